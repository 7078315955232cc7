import type { Actor } from '../../access/scope.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { PhaseApproval, PhaseOf, UpgradeHold } from '../rollout.ts'
import type { Now } from '../site-upgrade-now.ts'
import { holdOf } from './decide-wait.ts'

/** Returns the pause of an upgrade that a person begins. */
export function pauseBy({ name }: Actor, at: Pick<Now, 'now' | 'nowMs'>): UpgradeHold & { readonly by: 'user' } {
  return { ...holdOf({ by: 'user', reason: `paused by ${name}` }, at), by: 'user' }
}

/** Returns a person's pause, which also records why, and since when, the upgrade would wait without it. */
export function pauseOver(pause: UpgradeHold, wait: UpgradeHold | null): UpgradeHold {
  const { pause_reason: alone = pause.reason, ...rest } = pause
  if (wait === null) return { ...rest, reason: alone }
  return { ...rest, reason: `${alone} (before: ${wait.reason})`, pause_reason: alone, since_ms: wait.since_ms }
}

/** Returns the approval of a phase by a person. */
export function approvalBy(
  { name, adminId }: Actor,
  phase: PhaseOf,
  { note, at }: { readonly note: string | null; readonly at: Date },
): PhaseApproval {
  return { ...phase, by: 'approval', name, admin_id: adminId, note, at_s: epochS(at) }
}

/**
 * Returns the record that a person has opened the phase after this one by resuming the upgrade; null: the pause is not at a
 * gate.
 * @param hold The pause that ends.
 */
export function openingBy(
  { name, adminId }: Actor,
  phase: PhaseOf,
  { hold, at }: { readonly hold: UpgradeHold | null; readonly at: Date },
): PhaseApproval | null {
  if (hold?.by !== 'gate' && hold?.by !== 'check' && hold?.by !== 'time') return null
  const early = hold.not_before_s !== undefined && { early: true as const }
  return { ...phase, by: 'resume', name, admin_id: adminId, note: null, ...early, at_s: epochS(at) }
}

/** Lists the phases of one kind that people have approved, once for each of the people. */
export function listApproved(approvals: readonly PhaseApproval[], kind: PhaseOf['of']): number[] {
  return approvals.flatMap(({ phase, of, by }) => (by === 'approval' && of === kind ? [phase] : []))
}

/** Lists the phases of one kind after which people have opened the next one before its instant. */
export function listHurried(approvals: readonly PhaseApproval[], kind: PhaseOf['of']): number[] {
  return approvals.flatMap(({ phase, of, early }) => (early === true && of === kind ? [phase] : []))
}
