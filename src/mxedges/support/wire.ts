import { type Static, Type } from 'typebox'
import type { SupportFile } from '../../devices/support/store.ts'
import { presentSupportFile, supportFileProperties } from '../../devices/support/wire.ts'
import { Uuid, named } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'

export const MxedgeSupportFileReply = named(
  'MxedgeSupportFile',
  Type.Object({ ...supportFileProperties, mxedge_id: Uuid }),
)

export function presentMxedgeFile(
  ctx: Context,
  { orgId, mxedgeId }: { readonly orgId: string; readonly mxedgeId: string },
  file: SupportFile,
): Static<typeof MxedgeSupportFileReply> {
  return { ...presentSupportFile(ctx, orgId, file), mxedge_id: mxedgeId }
}
