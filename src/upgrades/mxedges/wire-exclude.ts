import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { NoteField } from '../changes/wire-exclude.ts'
import type { MxedgeExclusion } from './exclude-mxedges.ts'
import { SkippedReply, presentSkipped } from './wire-skipped.ts'

export const MxedgeExcludeBody = named(
  'MxedgeUpgradeExclusionCreate',
  Type.Object({ mxedge_ids: Type.Array(Uuid, { minItems: 1, maxItems: 10_000 }), note: NoteField }),
)

export const MxedgeExcludeReply = named(
  'MxedgeUpgradeExclusion',
  Type.Object({
    excluded: Type.Integer({ description: 'How many edge appliances have left the upgrade' }),
    skipped: SkippedReply,
  }),
)

export function parseMxedgeExclusion({ mxedge_ids: ids, note }: Static<typeof MxedgeExcludeBody>): {
  readonly mxedgeIds: readonly string[]
  readonly note: string | null
} {
  return { mxedgeIds: ids.map((id) => id.toLowerCase()), note: note ?? null }
}

export function presentMxedgeExclusion({ excluded, skipped }: MxedgeExclusion): Static<typeof MxedgeExcludeReply> {
  return { excluded, skipped: presentSkipped(skipped) }
}
