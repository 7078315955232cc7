import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import { type ImageFiles, removeImage } from '../platform/images/image-files.ts'
import { auditDocument, titleOf } from '../maps/map.ts'
import { deleteMap as eraseMap, lockMap } from '../maps/store.ts'
import { lockDevicesOnMap, placeDevices } from '../devices/store-placement.ts'

/** The place of a device that is on no map. Height and orientation belong to the device and stay. */
const NO_PLACE = { map_id: null, x: null, y: null }

/**
 * Deletes a map. Its devices are then on no map; its picture is removed after the commit. @throws AppError not_found.
 */
export async function deleteMap(
  ctx: Context,
  scope: SiteScope,
  { files, mapId }: { readonly files: ImageFiles; readonly mapId: string },
): Promise<void> {
  const map = await inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    const before = await lockMap(tx, scope, mapId)
    if (before === undefined) throw notFound(mapId)
    const devices = await lockDevicesOnMap(tx, scope, before.id)
    const taken = devices.map(({ id }) => ({ id, fields: NO_PLACE }))
    await placeDevices(tx, scope, taken, at)
    await eraseMap(tx, scope, mapId)
    await appendAudit(tx, scope, {
      message: `Delete Map ${titleOf(before)}`,
      siteId: scope.siteId,
      before: { ...auditDocument(before), ...(devices.length > 0 && { macs: devices.map(({ mac }) => mac) }) },
      at,
    })
    return before
  })
  await removePictures(files, map)
}

/** Removes the picture files of a map that no row names any more. */
export async function removePictures(
  files: ImageFiles,
  { image, thumbnail }: { readonly image: string | null; readonly thumbnail: string | null },
): Promise<void> {
  for (const name of [image, thumbnail]) if (name !== null) await removeImage(files, name)
}
