import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { countMissing } from '../../rollout/gates/decide-wait.ts'
import { type PhaseApproval, type PhaseOf, START_PHASE, type StartGate } from '../../rollout/rollout.ts'
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
        Type.Enum(['pause', 'approval', 'check', 'time'], { description: 'what opens the next phase besides' }),
      ),
      prevent_self_approval: Type.Optional(
        Type.Literal(true, { description: 'a person other than the one who created the upgrade gives the approval' }),
      ),
      minutes: Type.Optional(Type.Integer({ description: 'how long the next phase waits, for a time' })),
      not_before: Type.Optional(
        Type.Integer({ description: 'the next phase does not begin before it, in seconds since 1970' }),
      ),
      approvals: Type.Optional(Type.Integer({ description: 'how many different people must approve; absent: one' })),
      approved_by: Type.Optional(
        Type.Array(OpeningReply, { description: 'the people who have approved, if several must' }),
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
  const given = listGiven(approvals, { phase: START_PHASE })
  return {
    wait_for: 'approval',
    ...presentApprovers(startGate, given),
    passed: countMissing(startGate, given.length) === 0,
    ...presentOpenings(approvals, { phase: START_PHASE, isOpen: countMissing(startGate, given.length) === 0 }),
  }
}

function listGiven(approvals: readonly PhaseApproval[], { phase, of }: PhaseOf): readonly PhaseApproval[] {
  return approvals.filter((one) => one.phase === phase && one.of === of && one.by === 'approval')
}

function presentApprovers({ prevent_self_approval: another, approvals }: StartGate, given: readonly PhaseApproval[]) {
  return {
    ...(another !== undefined && { prevent_self_approval: another }),
    ...(approvals !== undefined && { approvals, approved_by: given.map(presentOpening) }),
  }
}

/** One of several approvals has not opened the next phase. */
function presentOpenings(
  approvals: readonly PhaseApproval[],
  { phase, of, isOpen }: PhaseOf & { readonly isOpen: boolean },
) {
  const opening = approvals.findLast((one) => one.phase === phase && one.of === of)
  return isOpen && opening !== undefined ? { opened_by: presentOpening(opening) } : {}
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
  const { min_success_percentage: share, wait_for: waitFor } = gate
  const given = listGiven(approvals, { phase, of })
  return {
    ...(failures !== null && { max_failures: failures }),
    ...(percent !== null && { max_failure_percentage: percent }),
    ...(upgraded > 0 && { min_upgraded: upgraded }),
    ...(share !== undefined && { min_success_percentage: share }),
    ...(waitFor !== undefined && { wait_for: waitFor }),
    ...(gate.minutes !== undefined && { minutes: gate.minutes }),
    ...(gate.not_before_s !== undefined && { not_before: gate.not_before_s }),
    ...presentApprovers(gate, given),
    passed: openPhase > phase,
    ...presentOpenings(approvals, {
      phase,
      of,
      isOpen: gate.approvals === undefined || countMissing(gate, given.length) === 0,
    }),
  }
}
