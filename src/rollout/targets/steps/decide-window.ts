import { findClosing, findOpening } from '../../../orgs/windows/windows.ts'
import type { RolloutOptions, UpgradePlan } from '../../rollout.ts'
import type { DeviceNow, TargetDecision, TargetRules, UpgradeOrder } from '../target.ts'

/** The device that no window is long enough for. */
export const WINDOW_TOO_SHORT = 'window_too_short'

/** Returns the function of TargetRules for the maintenance windows of a site upgrade. */
export function beginsWithin(
  { windows, timezone }: Pick<UpgradePlan, 'windows' | 'timezone'>,
  { now, nowMs }: Pick<TargetRules, 'now' | 'nowMs'>,
): TargetRules['beginMs'] {
  if (windows === undefined) return () => nowMs
  // Memoized, because a large upgrade evaluates it for each of its devices.
  const known = new Map<number, number | null>()
  return (needMs) => {
    const answered = known.get(needMs)
    if (answered !== undefined) return answered
    const fromMs = now.getTime()
    const openingMs = findOpening(windows, timezone, { fromMs, needMs })
    // The difference first: the sum with a wall time would lose the fraction of nowMs, and an open window would open later.
    const beginMs = openingMs === null ? null : nowMs + (openingMs - fromMs)
    known.set(needMs, beginMs)
    return beginMs
  }
}

/** Returns a time of the service as a time of the wall clock. */
export function wallOf(ms: number, { now, nowMs }: Pick<TargetRules, 'now' | 'nowMs'>): Date {
  return new Date(now.getTime() + Math.round(ms - nowMs))
}

/** Returns how long a device may be away after it was commanded to reboot, by its class. */
export function rebootTimeoutMs(
  { type, members }: Pick<DeviceNow, 'type'> & { readonly members: number },
  { rebootTimeoutMs: timeouts }: Pick<RolloutOptions, 'rebootTimeoutMs'>,
): number {
  if (members < 2) return timeouts[type]
  return timeouts[type === 'gateway' ? 'cluster' : 'virtual_chassis']
}

/**
 * Returns the action of a device outside of the maintenance windows, instead of its next step; null: it may take the
 * step. A download only has to begin within a window; a device that reboots has to end within it, in the time limit of
 * its class.
 */
export function findWindowWait(
  order: UpgradeOrder,
  { type, memberFirmware }: DeviceNow,
  { nowMs, beginMs, options }: Pick<TargetRules, 'nowMs' | 'beginMs' | 'options'>,
): Extract<TargetDecision, { readonly kind: 'wait' | 'move' }> | null {
  const needMs = order === 'stage' ? 0 : rebootTimeoutMs({ type, members: memberFirmware.length }, options)
  const atMs = beginMs(needMs)
  if (atMs === null) return { kind: 'move', to: 'failed', reason: WINDOW_TOO_SHORT }
  return atMs > nowMs ? { kind: 'wait', untilMs: atMs, for: 'window' } : null
}

/** Returns when the maintenance window of a site upgrade closes that is open now; null: none is. */
export function closingOf({ windows, timezone }: Pick<UpgradePlan, 'windows' | 'timezone'>, now: Date): Date | null {
  const closesMs = windows === undefined ? null : findClosing(windows, timezone, now.getTime())
  return closesMs === null ? null : new Date(closesMs)
}

/** Returns the last instant at which a step may begin in a window that closes then. */
export function sendBy(
  order: UpgradeOrder,
  { type, memberFirmware }: Pick<DeviceNow, 'type' | 'memberFirmware'>,
  { closesAt, options }: { readonly closesAt: Date; readonly options: Pick<RolloutOptions, 'rebootTimeoutMs'> },
): Date {
  const needMs = order === 'stage' ? 0 : rebootTimeoutMs({ type, members: memberFirmware.length }, options)
  return new Date(closesAt.getTime() - needMs)
}

/** Returns when the next window opens; null: one is open, or there are none. */
export function findClosedUntil({ nowMs, beginMs }: Pick<TargetRules, 'nowMs' | 'beginMs'>): number | null {
  const atMs = beginMs(0)
  return atMs !== null && atMs > nowMs ? atMs : null
}
