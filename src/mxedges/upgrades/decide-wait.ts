import { listApproved, listHurried } from '../../rollout/gates/approvals.ts'
import { ofAppliances } from '../../rollout/gates/decide-hold.ts'
import {
  type StartNow,
  type Wait,
  countApproved,
  findStartWait as findWaitOfStart,
  findWait,
} from '../../rollout/gates/decide-wait.ts'
import { type PhaseApproval, type PhaseOf, START_PHASE, type UpgradeHold } from '../../rollout/rollout.ts'
import type { MxedgeUpgradePlan } from './upgrade.ts'

/** What the gates of an upgrade depend on, besides the results of its phases. */
export interface GatedUpgrade {
  readonly plan: Pick<MxedgeUpgradePlan, 'gates' | 'phase_sizes' | 'start_gate'>
  readonly approvals: readonly PhaseApproval[]
  readonly gatePassed: number
  readonly currentPhase: number
}

/** Returns what an upgrade waits for before it begins; null: it may begin. */
export function findStartWait({
  plan: { start_gate: gate },
  approvals,
}: Pick<GatedUpgrade, 'plan' | 'approvals'>): ReturnType<typeof findWaitOfStart> {
  const start: StartNow | null =
    gate === undefined ? null : { gate, given: countApproved(listApproved(approvals, undefined), START_PHASE) }
  return findWaitOfStart(start)
}

/** Returns what the gate after the open phase waits for, whatever its results are; null: the next phase may open. */
export function findPhaseWait({ plan, approvals, gatePassed, currentPhase }: GatedUpgrade, now: Date): Wait | null {
  const [approved, hurried] = [listApproved(approvals, undefined), listHurried(approvals, undefined)]
  const { phase_sizes: sizes, gates } = plan
  return findWait(currentPhase, { units: ofAppliances.units, sizes, gates, gatePassed, approved, hurried }, now)
}

type Held = Pick<GatedUpgrade, 'currentPhase'> & { readonly hold: UpgradeHold | null }

/** Returns the phase whose gate pauses the upgrade, or the open one; before the start that of the start. */
export function findHeldPhase({ hold, currentPhase }: Held): PhaseOf {
  return { phase: hold?.phase ?? currentPhase }
}

/** Returns for which further approvals the gate waits at which the upgrade is paused; null: for none. */
export function findFurtherApprovals(upgrade: GatedUpgrade & Held, now: Date): Wait | null {
  const wait = findHeldPhase(upgrade).phase === START_PHASE ? findStartWait(upgrade) : findPhaseWait(upgrade, now)
  // The engine lets an approved phase wait for its instant.
  return wait?.by === 'approval' ? wait : null
}
