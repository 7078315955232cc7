import type { JobDecision, JobNow } from './decide-next.ts'

/**
 * What may be done of a round that has looked at some targets of an upgrade alone. What these do next stands, and with it
 * the counts, a limit that their failures exceed, and the end of the upgrade. Whether a phase has ended does not: others
 * may have to be waited for. Then, and after a stop, the upgrade is due at once, for a look at all its targets.
 *
 * @param job As it was before the round; `dueMs`: when it was to be looked at again.
 */
export function decidePartly(
  job: Omit<JobNow, 'targets'> & { readonly dueMs: number | null },
  decision: JobDecision,
  nowMs: number,
): JobDecision {
  const { job: change } = decision
  if (change.finishedAt !== null) return decision
  const stops = change.stopping !== job.stopping
  const passesGate = change.currentPhase !== job.currentPhase || (change.hold !== null && job.hold === null)
  const goesOn = change.dueMs !== null && change.dueMs <= nowMs
  return {
    ...decision,
    job: {
      ...change,
      currentPhase: job.currentPhase,
      phaseOpenedMs: passesGate ? job.phaseOpenedMs : change.phaseOpenedMs,
      hold: passesGate ? job.hold : change.hold,
      dueMs: stops || passesGate || goesOn ? nowMs : job.dueMs,
    },
  }
}

/** A look at all targets takes at most this share of the time, however many there are. */
const LOOK_SHARE = 0.1
/** The longest that it waits for that: time-outs are noticed by it, while what devices do is noticed at once. */
const MAX_REST_MS = 30_000

/** Puts off the next look at all targets of an upgrade after one that took long. What is due at once stays so. */
export function putOffLook(decision: JobDecision, { nowMs, lookMs }: { nowMs: number; lookMs: number }): JobDecision {
  const { dueMs } = decision.job
  if (dueMs === null || dueMs <= nowMs) return decision
  const restedMs = nowMs + Math.min(lookMs / LOOK_SHARE, MAX_REST_MS)
  return { ...decision, job: { ...decision.job, dueMs: Math.max(dueMs, restedMs) } }
}
