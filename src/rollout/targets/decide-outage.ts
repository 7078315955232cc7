import type { Now } from '../site-upgrade-now.ts'
import type { Step } from '../rounds/decide-step.ts'
import { isInFlight, isTerminal } from '../rollout.ts'
import type { TargetNow } from './target.ts'

/** A time for which the upgrade has taken a device down. */
export interface TargetOutage {
  readonly downAt: Date
  /** Null: the device has not come back. */
  readonly upAt: Date | null
}

/**
 * Decides how long the reboot took the device down, at the step that notices its result: from the end of its connection
 * to the next one, in time for which the service has listened.
 * @returns Null: the device was not rebooted, or the start of its absence is unknown.
 */
export function decideOutage(
  { target, to, hop }: Pick<Step, 'target' | 'to' | 'hop'>,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): TargetOutage | null {
  if (!isResult(target, { to, hop })) return null
  const connectedMs = target.device?.connectedMs ?? null
  const hasBooted = target.bootCount !== null && (target.device?.bootCount ?? 0) > target.bootCount
  // A device that is still connected and has not booted was not down.
  if (connectedMs !== null && !hasBooted) return null
  const downMs = findDownMs(target, { now, nowMs })
  if (downMs === null) return null
  const instant = (ms: number): Date => new Date(now.getTime() - Math.max(0, nowMs - ms))
  if (connectedMs === null) return { downAt: instant(downMs), upAt: null }
  return { downAt: instant(Math.min(downMs, connectedMs)), upAt: instant(connectedMs) }
}

/** True at the step after which the device is verified, is to be restored, or has failed for good. */
function isResult(target: TargetNow, { to, hop }: Pick<Step, 'to' | 'hop'>): boolean {
  if (target.state === 'verifying' || target.state === 'snapshotting' || to === 'skipped' || to === 'cancelled')
    return false
  if (hop !== undefined) return isInFlight(target.state)
  return to === 'verifying' || to === 'snapshotting' || to === 'rolling_back' || isTerminal(to)
}

/** Returns the end of the previous connection, or the best approximation if the gateway did not notice it. */
function findDownMs(
  { state, enteredMs, command, device }: TargetNow,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): number | null {
  if (command === null || command.sentAt === null || device === null) return null
  const sentMs = nowMs - Math.max(0, now.getTime() - command.sentAt.getTime())
  const { connectedMs, disconnectedMs } = device
  // A device that connects while its old connection still counts as open has lost that one at an unknown time.
  const isNoticed =
    disconnectedMs !== null && disconnectedMs >= sentMs && (connectedMs === null || disconnectedMs < connectedMs)
  if (isNoticed) return disconnectedMs
  return state === 'rebooting' || state === 'rolling_back' ? enteredMs : null
}
