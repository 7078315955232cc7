import { fail } from '../steps/decide-attempt.ts'
import type { DeviceHealth } from '../../tables.ts'
import type { HealthNow, TargetDecision, TargetNow, TargetRules } from '../target.ts'

/** The time that clients need to come back. */
const CLIENTS_MS = 10 * 60_000
/** A smaller share of the clients than before is a failure. */
const MIN_CLIENTS_PERCENT = 50

/**
 * Makes a device that would have ended as upgraded wait until it is as healthy as before, or fails it once it has had
 * enough time. Its connection and version have been verified.
 */
export function checkHealthInstead(target: TargetNow, rules: TargetRules, decision: TargetDecision): TargetDecision {
  const { health, device, state } = target
  const ends = decision.kind === 'move' && (decision.to === 'upgraded' || decision.to === 'snapshotting')
  if (!ends || state === 'snapshotting' || device === null || device.connectedMs === null) return decision
  if (health === undefined || health.baseline === null) return decision
  const { nowMs, options } = rules
  const clientsMs = device.connectedMs + CLIENTS_MS
  const reason = findWorse(health.baseline, health.latest, clientsMs)
  if (reason === null) return decision
  if (state !== 'verifying') return { kind: 'move', to: 'verifying' }
  const untilMs = Math.max(target.enteredMs + options.soakMs + options.verifyTimeoutMs, clientsMs)
  return nowMs < untilMs ? { kind: 'wait', untilMs } : fail(reason)
}

/**
 * Returns how the device is worse than before, or why this is unknown; null: in no respect.
 * @param clientsMs Fewer clients in a report before this time mean nothing.
 */
export function findWorse(before: DeviceHealth, latest: HealthNow['latest'], clientsMs: number): string | null {
  if (latest === null) return 'health_unknown'
  const { health, reportedMs } = latest
  const lacks = (some: readonly string[], all: readonly string[]): boolean => all.some((one) => !some.includes(one))
  if (health.uplinks.length < before.uplinks.length) return 'health_uplink'
  if (lacks(health.neighbors, before.neighbors)) return 'health_neighbor'
  if (lacks(health.radios, before.radios)) return 'health_radio'
  if (before.clients === null || health.clients === null) return null
  if (100 * health.clients >= MIN_CLIENTS_PERCENT * before.clients) return null
  return reportedMs < clientsMs ? 'health_unknown' : 'health_clients'
}

/** Failures of a device that is connected and runs the version, but does not work as before. */
export function isHealthReason(reason: string | undefined): boolean {
  return reason?.startsWith('health_') === true
}
