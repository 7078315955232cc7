import type { OrgPhasePlan, UpgradeHold } from './rollout.ts'

/** What is known of the gates of a whole upgrade. */
interface Gates {
  /** Targets by phase. */
  readonly sizes: readonly number[]
  readonly gates: OrgPhasePlan['gates']
  /** Somebody resumed the upgrade at the gate after this phase; 0 = none. */
  readonly gatePassed: number
  /** The phases that a person has approved. */
  readonly approved: readonly number[]
}

/**
 * Returns what the gate after a phase waits for although enough of its devices were upgraded; null: the next phase may
 * open. An empty phase waits for nothing.
 * @param phase The one that has ended, from 1.
 */
export function findWait(
  phase: number,
  { sizes, gates, gatePassed, approved }: Gates,
): Pick<UpgradeHold, 'by' | 'reason'> | null {
  const gate = gates?.[phase - 1] ?? null
  if (gate?.wait_for === undefined || (sizes[phase - 1] ?? 0) === 0) return null
  switch (gate.wait_for) {
    case 'pause':
      return gatePassed >= phase
        ? null
        : { by: 'gate', reason: `phase ${phase} ended, after which a pause was requested` }
    case 'check':
      return gatePassed >= phase ? null : { by: 'check', reason: `phase ${phase} ended and waits for its check` }
    case 'approval':
      // Resuming the upgrade after too many failures is no approval.
      return approved.includes(phase)
        ? null
        : { by: 'approval', reason: `phase ${phase} ended and waits for an approval` }
  }
}
