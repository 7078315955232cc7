import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { MAX_NAMED, presentMxedgeIds } from '../../rollout/events/present-named.ts'
import type { MxedgeRetry } from './retry-mxedge-upgrade.ts'

/** An empty list would retry nothing; without the list all failed appliances are retried. */
export const MxedgeRetryBody = named(
  'MxedgeUpgradeRetryCreate',
  Type.Object({
    mxedge_ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 10_000 })),
  }),
)

export const MxedgeRetryReply = named(
  'MxedgeUpgradeRetry',
  Type.Object({
    retried: Type.Integer({ description: 'How many edge appliances are retried' }),
    skipped: Type.Array(
      Type.Object({
        reason: Type.String(),
        total: Type.Integer(),
        mxedge_ids: Type.Array(Uuid, { description: `The first ${MAX_NAMED} of them` }),
      }),
    ),
  }),
)

/** @returns The ids as the service stores them; null: all failed appliances. */
export function parseMxedgeRetry({ mxedge_ids: ids }: Static<typeof MxedgeRetryBody>): readonly string[] | null {
  return ids === undefined ? null : ids.map((id) => id.toLowerCase())
}

export function presentMxedgeRetry({ retried, skipped }: MxedgeRetry): Static<typeof MxedgeRetryReply> {
  return {
    retried,
    skipped: [...Map.groupBy(skipped, ({ reason }) => reason)].map(([reason, some]) => {
      const { total, mxedge_ids } = presentMxedgeIds(some.map(({ mxedgeId }) => mxedgeId))
      return { reason, total, mxedge_ids }
    }),
  }
}
