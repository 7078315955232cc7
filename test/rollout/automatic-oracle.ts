// What automatic upgrades must begin: a simple oracle for random settings and devices.
import type { DeviceType } from '../../src/events/device-type.ts'
import type { AutoUpgrade } from '../../src/orgs/windows/auto-upgrade.ts'
import type { Onboarding } from '../../src/upgrades/automatic/onboarding.ts'
import type { SeededDevice } from '../support/fleets/fleet.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const WEEK_MS = 7 * 24 * HOUR_MS

export interface Place {
  readonly id: string
  zone: string
  rule: AutoUpgrade | null
  /** `switch.auto_upgrade`, for new switches. */
  newRule: Onboarding | null
  /** The setting and the zone of the last look; null: it was turned off. */
  seen: string | null
  dueMs: number
}

export interface Box {
  readonly seeded: SeededDevice
  siteId: string | null
  online: boolean
  version: string
  claimedMs: number
  /** It has been connected since its claim. */
  hasConnected: boolean
}

/** All that the oracle knows. */
export interface World {
  readonly places: readonly Place[]
  readonly boxes: readonly Box[]
  org: AutoUpgrade | null
  newOrg: Onboarding | null
  stable: string
  /** The sites that had a setting for new switches at the last look, and the switches that are not new. */
  hadNewRule: ReadonlySet<string>
  readonly known: Set<Box>
  /** The site upgrades that have begun. */
  readonly begun: Set<string>
}

/** The clock of a zone: `Sun 05:10`. */
export function localTime(zone: string, atMs: number): string {
  const options = { timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const parts = new Intl.DateTimeFormat('en-US', options).formatToParts(atMs)
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? ''
  return `${of('weekday').toLowerCase()} ${of('hour')}:${of('minute')}`
}

/** Looks at minute after minute. */
function nextTimeMs(
  { day_of_week: day = 'any', time_of_day: time = 'any' }: AutoUpgrade,
  zone: string,
  afterMs: number,
) {
  const clock = time === 'any' || time === '' ? '02:00' : time
  for (let atMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS; ; atMs += MINUTE_MS) {
    const [weekday, local] = localTime(zone, atMs).split(' ')
    if (local === clock && (day === 'any' || day === weekday)) return atMs
  }
}

export function ruleOf({ org }: World, place: Place): AutoUpgrade | null {
  const rule = place.rule ?? org
  return rule?.enabled === true ? rule : null
}

function newRuleOf({ newOrg }: World, place: Place): Onboarding | null {
  const rule = place.newRule ?? newOrg
  return rule?.enabled === true ? rule : null
}

/** The version that the device must get; `keep`: it runs it; `none`: there is a reason against it. */
function planFor({ seeded, version: present }: Box, rule: Onboarding, stable: string): string {
  const named = rule.custom_versions?.[seeded.model]
  const wanted = named ?? (rule.version === 'custom' ? '9.9' : (rule.version ?? 'stable'))
  // The catalog has neither a beta nor 9.9.
  if (wanted === 'beta' || wanted === '9.9') return 'none'
  const version = wanted === 'stable' ? stable : wanted
  if (version === present) return 'keep'
  // A label never lowers a version. Texts of these versions are in their order.
  return wanted === 'stable' && present > version ? 'none' : version
}

const isUpgrade = (plan: string) => plan !== 'keep' && plan !== 'none'

/** When a look is, and which devices are in upgrades then. */
interface Look {
  readonly nowMs: number
  readonly busy: ReadonlySet<string>
}

/** What the next look must begin: by site, the versions of devices. It changes the oracle as the look changes the service. */
export function expectLook(world: World, { busy, nowMs }: Look): Map<string, Record<string, string>> {
  const expected = new Map<string, Record<string, string>>()
  for (const place of world.places) {
    const rule = ruleOf(world, place)
    const seen = rule && JSON.stringify([rule, place.zone])
    const isSeen = seen === place.seen
    place.seen = seen
    if (rule === null) continue
    if (!isSeen) place.dueMs = nextTimeMs(rule, place.zone, nowMs - MINUTE_MS)
    if (!isSeen || place.dueMs > nowMs) continue
    const isLate = nowMs - place.dueMs > HOUR_MS
    place.dueMs = nextTimeMs(rule, place.zone, nowMs)
    if (isLate) continue
    const here = connectedAt(world, place, 'ap').filter(({ seeded }) => !busy.has(seeded.id))
    const due = here.map((box) => [box.seeded.id, planFor(box, rule, world.stable)] as const)
    const upgraded = due.filter(([, plan]) => isUpgrade(plan))
    if (upgraded.length > 0) expected.set(place.id, Object.fromEntries(upgraded))
  }
  return expected
}

function connectedAt({ boxes }: World, { id }: Place, type: DeviceType): Box[] {
  return boxes.filter((box) => box.siteId === id && box.online && box.seeded.type === type)
}

/**
 * What the next look must begin for new switches, as expectLook(). An upgrade without devices has the reasons why new ones can't be
 * upgraded.
 */
export function expectNew(world: World, { busy, nowMs }: Look): Map<string, Record<string, string>> {
  const expected = new Map<string, Record<string, string>>()
  for (const place of world.places) {
    const rule = newRuleOf(world, place)
    if (rule === null || !world.hadNewRule.has(place.id)) continue
    const fresh = connectedAt(world, place, 'switch').filter((box) => !world.known.has(box))
    for (const box of fresh) world.known.add(box)
    const plans = fresh.map((box) => [box.seeded.id, planFor(box, rule, world.stable)] as const)
    if (plans.every(([, plan]) => plan === 'keep')) continue
    const upgraded = plans.filter(([id, plan]) => isUpgrade(plan) && !busy.has(id))
    expected.set(place.id, Object.fromEntries(upgraded))
  }
  const having = new Set(world.places.flatMap((place) => (newRuleOf(world, place) === null ? [] : [place.id])))
  const isSettingNew = having.difference(world.hadNewRule).size > 0
  for (const box of world.boxes.filter(({ seeded }) => seeded.type === 'switch')) {
    const { siteId, online, hasConnected, claimedMs } = box
    const wasThere = isSettingNew && hasConnected && (siteId === null || !world.hadNewRule.has(siteId))
    const isInUse = online && siteId !== null && !having.has(siteId) && claimedMs <= nowMs - WEEK_MS
    if (wasThere || (isInUse && having.size > 0)) world.known.add(box)
  }
  world.hadNewRule = having
  return expected
}
