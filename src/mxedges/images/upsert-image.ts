import type { OrgScope } from '../../access/scope.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { type ImageFiles, type ReceivedImage, keepImageFor, removeImage } from '../../platform/images/image-files.ts'
import { titleOf } from '../mxedge.ts'
import { recordChange } from '../record-change.ts'
import { lockMxedge } from '../store.ts'
import { type ImageSlot, deleteImageRow, insertImageRow } from './store.ts'

export interface NewPicture extends ImageSlot {
  readonly files: ImageFiles
  /** Stored or discarded when the function returns. */
  readonly received: ReceivedImage
}

/**
 * Sets or replaces one of the pictures of an appliance.
 * @throws AppError not_found.
 */
export async function upsertImage(ctx: Context, scope: OrgScope, picture: NewPicture): Promise<void> {
  const { files, received } = picture
  const replaced = await keepImageFor(files, received, () => writeImage(ctx, scope, picture))
  if (replaced !== null) await removeImage(files, replaced)
}

function writeImage(ctx: Context, scope: OrgScope, { mxedgeId, number, received }: NewPicture): Promise<string | null> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const mxedge = await lockMxedge(tx, scope, mxedgeId)
    const replaced = await deleteImageRow(tx, scope, { mxedgeId, number })
    const { name, sizeBytes: bytes, width, height } = received
    await insertImageRow(tx, scope, { mxedgeId, number, name, bytes, width, height, at })
    const message = `Set image ${number} of ${titleOf(mxedge)}`
    await recordChange(tx, scope, {
      mxedge,
      message,
      text: `Image ${number} set`,
      after: { number, width, height },
      at,
    })
    return replaced
  })
}

/** @throws AppError not_found, also for a number without a picture. */
export async function deleteImage(
  ctx: Context,
  scope: OrgScope,
  { files, mxedgeId, number }: ImageSlot & { readonly files: ImageFiles },
): Promise<void> {
  const at = ctx.clock.now()
  const name = await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const mxedge = await lockMxedge(tx, scope, mxedgeId)
    const deleted = await deleteImageRow(tx, scope, { mxedgeId, number })
    if (deleted === null) throw notFound(String(number))
    const message = `Delete image ${number} of ${titleOf(mxedge)}`
    await recordChange(tx, scope, { mxedge, message, text: `Image ${number} deleted`, before: { number }, at })
    return deleted
  })
  await removeImage(files, name)
}
