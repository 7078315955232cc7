import type { MaintenanceWindow } from '../../orgs/windows/windows.ts'
import { invalidField } from '../../platform/errors.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { RequestedTime, UpgradeRequest, UpgradeSite } from '../org-upgrade.ts'
import { PAST_TOLERANCE_MS, type StartTime, findZone, resolveStartTime, utcZone } from './plan-start.ts'

export interface SiteTimes {
  readonly startAt: Date
  readonly rebootAt: Date
  readonly timezone: string
  /** Empty: devices begin at any time. */
  readonly windows: readonly MaintenanceWindow[]
  readonly warnings: readonly UpgradeNote[]
}

/**
 * When each site starts and reboots, by its own clocks.
 * A local time that has passed at some of the sites means "now" there, and is noted.
 * @throws AppError invalid for an instant in the past, for a local time that has passed at all sites, and for a reboot or a
 *   phase that would be before the start at all sites.
 */
export function planTimes(
  { start, reboot, notBefore }: Pick<UpgradeRequest, 'start' | 'reboot' | 'notBefore'>,
  sites: readonly UpgradeSite[],
  now: Date,
): Map<string, SiteTimes> {
  refuseTimes({ start, reboot, notBefore }, sites, now)
  return resolveTimes({ start, reboot }, sites, now)
}

/** @throws AppError as planTimes() does. */
export function refuseTimes(
  { start, reboot, notBefore }: Pick<UpgradeRequest, 'start' | 'reboot' | 'notBefore'>,
  sites: readonly Place[],
  now: Date,
): void {
  const later = [...(reboot === null ? [] : [reboot]), ...notBefore]
  for (const requested of start === null ? later : [start, ...later]) refusePast(requested, sites, now)
  if (start !== null) for (const requested of later) refuseReversed(requested, start, sites)
}

/** The same for sites that join an upgrade later: their times may be long past. */
export function resolveTimes(
  { start, reboot }: Pick<UpgradeRequest, 'start' | 'reboot'>,
  sites: readonly UpgradeSite[],
  now: Date,
): Map<string, SiteTimes> {
  return new Map(
    sites.map((site) => {
      const zone = findZone(site.timezone)
      const startAt = latest(now, start === null ? now : resolveStartTime(start.time, zone ?? utcZone))
      const rebootAt = latest(startAt, reboot === null ? startAt : resolveStartTime(reboot.time, zone ?? utcZone))
      const unknown = zone === null ? [{ reason: `unknown time zone "${site.timezone}", taken as UTC` }] : []
      const warnings = [...unknown, ...notePast({ start, reboot }, site, now)]
      return [site.id, { startAt, rebootAt, timezone: zone?.name ?? 'UTC', windows: [], warnings }]
    }),
  )
}

type Place = Pick<UpgradeSite, 'name' | 'timezone'>

function refusePast({ field, time }: RequestedTime, sites: readonly Place[], now: Date): void {
  if (time.kind === 'instant') {
    if (now.getTime() - time.at.getTime() > PAST_TOLERANCE_MS)
      throw invalidField(field, `is ${time.at.toISOString()}, more than 5 minutes ago`)
    return
  }
  if (sites.length === 0 || !sites.every((site) => isPast(time, site, now))) return
  const named = sites.slice(0, MAX_NAMED_SITES).map((site) => `${site.name} (${site.timezone})`)
  const more = sites.length > MAX_NAMED_SITES ? ` and ${sites.length - MAX_NAMED_SITES} more sites` : ''
  throw invalidField(field, `has gone by already at ${named.join(', ')}${more}`)
}

function refuseReversed(later: RequestedTime, start: RequestedTime, sites: readonly Place[]): void {
  if (sites.length === 0 || !sites.every((site) => isReversed(later, start, site))) return
  const [given, least] = [later, start].map(({ time }) => describeTime(time))
  throw invalidField(later.field, `is ${given}, before ${start.field}, which is ${least}`)
}

/** A local time and an instant may stand in this order at some of the sites only. */
function isReversed(later: RequestedTime, start: RequestedTime, { timezone }: Place): boolean {
  const zone = findZone(timezone) ?? utcZone
  return resolveStartTime(later.time, zone) < resolveStartTime(start.time, zone)
}

function describeTime(time: StartTime): string {
  return time.kind === 'instant' ? time.at.toISOString() : new Date(time.localMs).toISOString().slice(0, -'Z'.length)
}

function notePast(
  { start, reboot }: Pick<UpgradeRequest, 'start' | 'reboot'>,
  site: UpgradeSite,
  now: Date,
): UpgradeNote[] {
  const note = (requested: RequestedTime | null, instead: string): UpgradeNote[] => {
    if (requested === null || requested.time.kind === 'instant' || !isPast(requested.time, site, now)) return []
    return [{ reason: `${requested.field} has gone by already in the time zone ${site.timezone}: ${instead}` }]
  }
  const immediately = 'the devices reboot as soon as they have their firmware'
  const reversed = start !== null && reboot !== null && isReversed(reboot, start, site)
  return [
    ...note(start, 'the site starts now'),
    ...(reversed
      ? [{ reason: `${reboot.field} is before ${start.field} in the time zone ${site.timezone}: ${immediately}` }]
      : note(reboot, immediately)),
  ]
}

function isPast(time: StartTime, site: Place, now: Date): boolean {
  const at = resolveStartTime(time, findZone(site.timezone) ?? utcZone)
  return now.getTime() - at.getTime() > PAST_TOLERANCE_MS
}

/** The maximum number of sites that an error text names. */
const MAX_NAMED_SITES = 5

function latest(a: Date, b: Date): Date {
  return a > b ? a : b
}
