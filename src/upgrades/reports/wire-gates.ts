import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { type PhaseApproval, type PhaseOf, START_PHASE } from '../../rollout/rollout.ts'
import { OpeningReply, presentOpening } from '../changes/wire-approve.ts'
import type { ReportedUpgrade } from './report.ts'

export const GateReply = named(
  'UpgradeGate',
  Type.Object(
    {
      max_failures: Type.Optional(Type.Integer({ description: 'more failures in the phase stop the upgrade' })),
      max_failure_percentage: Type.Optional(
        Type.Number({ description: 'a larger share of failures in the phase pauses the upgrade' }),
      ),
      min_upgraded: Type.Optional(
        Type.Integer({ description: 'fewer upgraded devices in the phase pause the upgrade' }),
      ),
      min_success_percentage: Type.Optional(
        Type.Number({ description: 'a smaller share of upgraded devices in the phase pauses the upgrade' }),
      ),
      wait_for: Type.Optional(
        Type.Enum(['pause', 'approval', 'check'], { description: 'what opens the next phase besides' }),
      ),
      prevent_self_approval: Type.Optional(
        Type.Literal(true, { description: 'a person other than the one who created the upgrade gives the approval' }),
      ),
      passed: Type.Optional(
        Type.Boolean({
          description: 'whether the next phase is open; absent after the last phase, which opens nothing',
        }),
      ),
      opened_by: Type.Optional(OpeningReply),
    },
    { description: 'what the phase has to meet for the next one to open' },
  ),
)

/** Null: the upgrade begins without an approval. */
export function presentStartGate({
  startGate,
  approvals,
}: Pick<ReportedUpgrade, 'startGate' | 'approvals'>): Static<typeof GateReply> | null {
  if (startGate === null) return null
  const opening = findOpening(approvals, { phase: START_PHASE })
  return {
    wait_for: 'approval',
    ...(startGate.prevent_self_approval !== undefined && { prevent_self_approval: startGate.prevent_self_approval }),
    passed: opening !== undefined,
    ...(opening !== undefined && { opened_by: presentOpening(opening) }),
  }
}

function findOpening(approvals: readonly PhaseApproval[], { phase, of }: PhaseOf): PhaseApproval | undefined {
  return approvals.findLast((one) => one.phase === phase && one.of === of)
}

interface ReportedGate extends Pick<ReportedUpgrade, 'gates' | 'approvals'>, PhaseOf {
  /** The last phase that has opened. */
  readonly openPhase: number
}

/** Null where the phase has no gate. The last phase opens no other one, so only its `max_failures` has an effect. */
export function presentGate({ gates, approvals, phase, of, openPhase }: ReportedGate): Static<typeof GateReply> | null {
  const gate = gates?.[phase - 1] ?? null
  if (gate === null) return null
  const { max_failures: failures, max_failure_percentage: percent, min_upgraded: upgraded } = gate
  if (phase === gates?.length) return failures === null ? null : { max_failures: failures }
  const { min_success_percentage: share, wait_for: waitFor, prevent_self_approval: another } = gate
  const opening = findOpening(approvals, { phase, of })
  return {
    ...(failures !== null && { max_failures: failures }),
    ...(percent !== null && { max_failure_percentage: percent }),
    ...(upgraded > 0 && { min_upgraded: upgraded }),
    ...(share !== undefined && { min_success_percentage: share }),
    ...(waitFor !== undefined && { wait_for: waitFor }),
    ...(another !== undefined && { prevent_self_approval: another }),
    passed: openPhase > phase,
    ...(opening !== undefined && { opened_by: presentOpening(opening) }),
  }
}
