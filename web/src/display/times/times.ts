const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Creating a formatter takes longer than formatting hundreds of times. */
const formatters = new Map<string, Intl.DateTimeFormat>()
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

/** @param zone Default: the zone of the viewer. */
function formatterOf(parts: Intl.DateTimeFormatOptions, zone?: string): Intl.DateTimeFormat {
  const key = `${Object.keys(parts).join(' ')} ${zone ?? ''}`
  const known = formatters.get(key)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-GB', { ...parts, ...(zone !== undefined && { timeZone: zone }) })
  formatters.set(key, made)
  return made
}

const timeParts = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const
const clockParts = { day: '2-digit', month: 'short', second: '2-digit', ...timeParts } as const
const yearParts = { year: 'numeric' } as const
const datedParts = { year: 'numeric', ...clockParts } as const

/** Returns how long ago an instant was, such as "5 min. ago". Both are seconds. */
export function ago(instantS: number, nowS: number): string {
  const past = Math.max(0, nowS - instantS)
  for (const [unit, seconds] of units) if (past >= seconds) return relative.format(-Math.floor(past / seconds), unit)
  return past < 5 ? 'now' : relative.format(-Math.floor(past), 'second')
}

/** Returns a time as clocks show it in a zone, or in that of the viewer; with its year if that is not the present one. */
export function clockTime(instantS: number, zone?: string, nowMs = Date.now()): string {
  const at = new Date(instantS * 1000)
  const year = formatterOf(yearParts, zone)
  const isThisYear = year.format(at) === year.format(new Date(nowMs))
  return unbroken(formatterOf(isThisYear ? clockParts : datedParts, zone).format(at))
}

/** Returns the time of day in a zone, or in that of the viewer. */
export function timeOfDay(instantS: number, zone?: string): string {
  return unbroken(formatterOf(timeParts, zone).format(new Date(instantS * 1000)))
}

/** Returns the name of a zone, or of that of the viewer, at a time, such as "GMT+9". */
export function zoneName(instantS: number, zone?: string): string {
  const parts = formatterOf(timeParts, zone).formatToParts(new Date(instantS * 1000))
  return unbroken(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '')
}

/** Writes "GMT-5" with a minus: browsers break lines after a hyphen. */
function unbroken(time: string): string {
  return time.replace('GMT-', 'GMT\u2212')
}

const NEAR_S = 12 * 3600

/** Returns the time of day, or the whole time if it is more than half a day away, so that nobody takes it for today's. */
export function nearTime(instantS: number, zone?: string, nowMs = Date.now()): string {
  const isNear = Math.abs(instantS - nowMs / 1000) <= NEAR_S
  return isNear ? timeOfDay(instantS, zone) : clockTime(instantS, zone, nowMs)
}

/** Returns a length of time by its two largest units, such as "3 d 4 h". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor((whole % 86_400) / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'min'],
    [whole % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
