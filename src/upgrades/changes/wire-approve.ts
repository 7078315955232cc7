import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { presentPhase } from '../../rollout/phases/present-phase.ts'
import { type PhaseApproval, START_PHASE } from '../../rollout/rollout.ts'
import { PhaseKind } from '../strategies/gate-fields.ts'
import type { Approval } from './approve-org-upgrade.ts'

export const ApproveBody = named(
  'UpgradeApprovalCreate',
  Type.Object({
    phase: Type.Integer({ minimum: START_PHASE, maximum: 100, description: 'The phase that has ended; 0: the start' }),
    phase_of: Type.Optional(PhaseKind),
    note: Type.Optional(textOf('visible', { minLength: 1, maxLength: 1000, description: 'Why' })),
  }),
)

export function parseApproval(id: string, { phase, phase_of: of, note }: Static<typeof ApproveBody>): Approval {
  return { id, phase, of: of === 'downloads' ? of : undefined, note: note ?? null }
}

/** The event that opened the phase after another one. */
const openingFields = {
  by: Type.Enum(['approval', 'check', 'resume', 'time']),
  admin_id: Type.Optional(Uuid),
  name: Type.String(),
  note: Type.Optional(Type.String()),
  timestamp: Timestamp,
}

export const OpeningReply = named(
  'UpgradeGateOpening',
  Type.Object(openingFields, { description: 'who opened the next phase last, when and why' }),
)

/** The people who approved phases. Ours. */
export const ApprovalsReply = Type.Array(
  named(
    'UpgradeApproval',
    Type.Object({
      phase: Type.Integer(),
      phase_of: Type.Optional(Type.Literal('downloads')),
      ...openingFields,
    }),
  ),
)

export function presentApproval(approval: PhaseApproval): Static<typeof ApprovalsReply>[number] {
  return { ...presentPhase(approval), ...presentOpening(approval) }
}

/** Presents who opened the phase after the one of the approval. */
export function presentOpening({ by, name, admin_id, note, at_s }: PhaseApproval): Static<typeof OpeningReply> {
  return {
    by,
    ...(admin_id !== null && { admin_id }),
    name,
    ...(note !== null && { note }),
    timestamp: at_s,
  }
}
