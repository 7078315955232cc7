import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { presentPhase } from '../rollout/phases/present-phase.ts'
import type { PhaseApproval } from '../rollout/rollout.ts'
import { PhaseKind } from './strategies/gate-fields.ts'
import type { Approval } from './approve-org-upgrade.ts'

export const ApproveBody = named(
  'UpgradeApprovalCreate',
  Type.Object({
    phase: Type.Integer({ minimum: 1, maximum: 100, description: 'The phase that has ended' }),
    phase_of: Type.Optional(PhaseKind),
    note: Type.Optional(Type.String({ maxLength: 1000 })),
  }),
)

export function parseApproval(id: string, { phase, phase_of: kind, note }: Static<typeof ApproveBody>): Approval {
  return { id, phase, of: kind === 'downloads' ? kind : undefined, note: note ?? null }
}

/** The people who approved phases. Ours. */
export const ApprovalsReply = Type.Array(
  named(
    'UpgradeApproval',
    Type.Object({
      phase: Type.Integer(),
      phase_of: Type.Optional(Type.Literal('downloads')),
      by: Type.Enum(['approval', 'check', 'resume']),
      admin_id: Type.Optional(Uuid),
      name: Type.String(),
      note: Type.Optional(Type.String()),
      timestamp: Timestamp,
    }),
  ),
)

export function presentApproval(approval: PhaseApproval): Static<typeof ApprovalsReply>[number] {
  const { by, name, admin_id, note, at_s } = approval
  return {
    ...presentPhase(approval),
    by,
    ...(admin_id !== null && { admin_id }),
    name,
    ...(note !== null && { note }),
    timestamp: at_s,
  }
}
