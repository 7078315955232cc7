import type { DeviceNow, TargetDecision, TargetNow, TargetRules } from './target.ts'

/** Doublings of the pause between attempts; from then on it stays the same. */
const MAX_DOUBLINGS = 5
/**
 * A device whose connection breaks this often during an upgrade does not get it done. With the pauses between the
 * attempts that takes hours.
 */
const MAX_LOST_ATTEMPTS = 30

export interface EndedAttempt {
  readonly reason: string
  /** The device got it wrong. What the network or the service did costs the device nothing. */
  readonly costs: boolean
  /** Default: grows with each attempt of the same kind. */
  readonly pauseMs?: number
}

/** An attempt ended and left the device as it was: the next one follows after a pause, unless it was the last. */
export function pauseAttempt(
  target: TargetNow,
  rules: TargetRules,
  { reason, costs, pauseMs }: EndedAttempt,
): TargetDecision {
  const { device, attempt, retryAtMs } = target
  if (device === null) return gone
  if (retryAtMs !== null) return repeatAttempt(target, device, rules)
  const { nowMs, options } = rules
  const failedAttempts = target.failedAttempts + (costs ? 1 : 0)
  const lostAttempts = attempt - failedAttempts
  if (failedAttempts >= options.maxAttempts || (!costs && lostAttempts >= MAX_LOST_ATTEMPTS))
    return { ...fail(reason), failedAttempts }
  const doublings = Math.min(MAX_DOUBLINGS, (costs ? failedAttempts : lostAttempts) - 1)
  const nextMs = nowMs + (pauseMs ?? options.retryMs * 2 ** doublings)
  if (rules.stopping) return { kind: 'move', to: 'cancelled', reason, failedAttempts }
  if (rules.held || device.link === 'absent')
    return { kind: 'move', to: 'deferred', reason, failedAttempts, retryAtMs: nextMs }
  if (nextMs <= nowMs && device.link === 'connected') return { kind: 'command', failedAttempts }
  return { kind: 'pause', reason, failedAttempts, retryAtMs: nextMs }
}

/** The next attempt, at no cost: at once, when its pause is over, or when the device is back. */
export function repeatAttempt(target: TargetNow, device: DeviceNow, rules: TargetRules): TargetDecision {
  const { retryAtMs, failedAttempts } = target
  if (isStopped(rules) || device.link === 'absent') return putOff(rules, retryAtMs)
  if (retryAtMs !== null && rules.nowMs < retryAtMs) return { kind: 'wait', untilMs: retryAtMs }
  return device.link === 'expected' ? { kind: 'wait' } : { kind: 'command', failedAttempts }
}

export const gone: TargetDecision = { kind: 'move', to: 'cancelled', reason: 'removed' }

export function fail(reason: string): Extract<TargetDecision, { kind: 'move' }> {
  return { kind: 'move', to: 'failed', reason }
}

export function putOff({ stopping }: TargetRules, retryAtMs: number | null = null): TargetDecision {
  if (stopping) return { kind: 'move', to: 'cancelled' }
  return { kind: 'move', to: 'deferred', ...(retryAtMs !== null && { retryAtMs }) }
}

/** No new command may go out, for good or for now. */
export function isStopped({ stopping, held }: Pick<TargetRules, 'stopping' | 'held'>): boolean {
  return stopping || held
}
