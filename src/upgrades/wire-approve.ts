import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import type { PhaseApproval } from '../rollout/rollout.ts'
import type { Approval } from './approve-org-upgrade.ts'

export const ApproveBody = named(
  'UpgradeApprovalCreate',
  Type.Object({
    phase: Type.Integer({ minimum: 1, maximum: 100, description: 'The phase that has ended' }),
    note: Type.Optional(Type.String({ maxLength: 1000 })),
  }),
)

export function parseApproval(id: string, { phase, note }: Static<typeof ApproveBody>): Approval {
  return { id, phase, note: note ?? null }
}

/** Who let phases open. Ours. */
export const ApprovalsReply = Type.Array(
  named(
    'UpgradeApproval',
    Type.Object({
      phase: Type.Integer(),
      by: Type.Enum(['approval', 'check', 'resume']),
      admin_id: Type.Optional(Uuid),
      name: Type.String(),
      note: Type.Optional(Type.String()),
      timestamp: Timestamp,
    }),
  ),
)

export function presentApproval({
  phase,
  by,
  name,
  admin_id,
  note,
  at_s,
}: PhaseApproval): Static<typeof ApprovalsReply>[number] {
  return { phase, by, ...(admin_id !== null && { admin_id }), name, ...(note !== null && { note }), timestamp: at_s }
}
