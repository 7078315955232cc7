import { isTimeOfDay } from '../../http/texts.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { findNextTime, weekdays } from './windows.ts'

/** The setting `auto_upgrade`, as on the wire: when the access points of a site get which version. */
export interface AutoUpgrade {
  readonly enabled?: boolean
  /** The label of the version for all models. `custom`: only the models of `custom_versions` are upgraded. */
  readonly version?: 'stable' | 'beta' | 'custom'
  /** Precedes `version`. Model -> version or label. */
  readonly custom_versions?: Readonly<Record<string, string>>
  /** Clients write an empty text for `any`. */
  readonly day_of_week?: (typeof weekdays)[number] | 'any' | ''
  /** `HH:MM` on the clock of the site; `any`, or an empty text, which clients write for a missing one. */
  readonly time_of_day?: string
}

/** The time for `any`, when few people work. */
const DEFAULT_TIME_OF_DAY = '02:00'

/**
 * Returns the next time of automatic upgrades after an instant. A wrong day or time counts as `any`; see findWrongField().
 * @param zone The name of an IANA zone.
 */
export function nextAutoUpgrade(
  { day_of_week: wanted, time_of_day: time }: AutoUpgrade,
  zone: string,
  after: Date,
): Date {
  const day = weekdays.find((name) => name === wanted)
  const days = day === undefined ? undefined : [day]
  return new Date(findNextTime({ days, time: timeOf(time) ?? DEFAULT_TIME_OF_DAY }, zone, after.getTime()))
}

/** Returns the time of day that a value of the setting stands for; null: it is impossible. */
function timeOf(value: unknown = 'any'): string | null {
  if (value === 'any' || value === '') return DEFAULT_TIME_OF_DAY
  return typeof value === 'string' && isTimeOfDay(value) ? value : null
}

const versions: ReadonlySet<unknown> = new Set([undefined, 'beta', 'custom', 'stable'])
const days: ReadonlySet<unknown> = new Set([undefined, 'any', '', ...weekdays])

/**
 * Returns the first field whose value is impossible; null: none. Settings that were stored before their fields were checked may
 * have any values.
 */
export function findWrongField(rule: { readonly [Field in keyof AutoUpgrade]: unknown }): keyof AutoUpgrade | null {
  const { version, custom_versions: ofModels, day_of_week: day, time_of_day: time } = rule
  if (!versions.has(version)) return 'version'
  if (!areVersions(ofModels)) return 'custom_versions'
  if (!days.has(day)) return 'day_of_week'
  return timeOf(time) === null ? 'time_of_day' : null
}

/** True if a stored value can be one of the optional `custom_versions`. */
export function areVersions(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.values(value).every(isVersion))
}

/** True for the text of a label or a version. */
export function isVersion(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
