import type { SitesScope } from '../access/scope.ts'
import { shareOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { wakeAfterCommit } from '../platform/database/wakes.ts'
import { type ImageFiles, removeImage } from '../platform/images/image-files.ts'
import { findImages } from './images/store.ts'
import { type Mxedge, auditDocument, titleOf } from './mxedge.ts'
import { recordChange } from './record-change.ts'
import { releaseMxedge } from './registry/store.ts'
import { deleteMxedgeRow, lockMxedge } from './store.ts'

/**
 * Deletes the appliance with its pictures. Anyone with the code on its label may claim the hardware again.
 * @throws AppError not_found.
 */
export async function deleteMxedge(
  ctx: Context,
  scope: SitesScope,
  { files, id }: { readonly files: ImageFiles; readonly id: string },
): Promise<void> {
  const at = ctx.clock.now()
  const pictures = await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    return removeMxedge(tx, scope, { mxedge: await lockMxedge(tx, scope, id), at })
  })
  for (const name of pictures) await removeImage(files, name)
}

/** Deletes a locked appliance. @returns The files of its pictures, to delete after the commit. */
export async function removeMxedge(
  tx: Tx,
  scope: SitesScope,
  { mxedge, at }: { readonly mxedge: Mxedge; readonly at: Date },
): Promise<string[]> {
  const { id } = mxedge
  const images = (await findImages(tx, scope, [id])).get(id)
  await deleteMxedgeRow(tx, scope, id)
  await releaseMxedge(tx, scope, mxedge)
  // The gateway closes its session.
  wakeAfterCommit(tx, 'mxedge_registrations')
  await recordChange(tx, scope, {
    mxedge,
    message: `Delete ${titleOf(mxedge)}`,
    text: 'Deleted',
    before: auditDocument(mxedge),
    at,
  })
  return [...(images?.values() ?? [])]
}
