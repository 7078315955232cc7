import { type Static, Type } from 'typebox'
import { Uuid } from '../../http/schemas.ts'
import { MAX_NAMED, presentMxedgeIds } from '../../rollout/events/present-named.ts'
import { presentByReason } from '../changes/wire-skipped.ts'
import type { SkippedAppliance } from './skipped-appliance.ts'

/** The appliances that a change leaves as they are, by reason. */
export const SkippedReply = Type.Array(
  Type.Object({
    reason: Type.String(),
    total: Type.Integer(),
    mxedge_ids: Type.Array(Uuid, { description: `The first ${MAX_NAMED} of them` }),
  }),
)

export function presentSkipped(skipped: readonly SkippedAppliance[]): Static<typeof SkippedReply> {
  return presentByReason(skipped, (some) => presentMxedgeIds(some.map(({ mxedgeId }) => mxedgeId)))
}
