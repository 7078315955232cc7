import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import type { MxedgeRetry } from './retry-mxedge-upgrade.ts'
import { SkippedReply, presentSkipped } from './wire-skipped.ts'

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
    skipped: SkippedReply,
  }),
)

/** @returns The ids as the service stores them; null: all failed appliances. */
export function parseMxedgeRetry({ mxedge_ids: ids }: Static<typeof MxedgeRetryBody>): readonly string[] | null {
  return ids === undefined ? null : ids.map((id) => id.toLowerCase())
}

export function presentMxedgeRetry({ retried, skipped }: MxedgeRetry): Static<typeof MxedgeRetryReply> {
  return { retried, skipped: presentSkipped(skipped) }
}
