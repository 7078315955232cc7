import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import { type ImageFiles, type ReceivedImage, keepImageFor } from '../platform/images/image-files.ts'
import { wakeAfterCommit } from '../platform/database/wakes.ts'
import { removePictures } from './delete-map.ts'
import { type MapDocument, type SiteMap, auditDocument, mergeMap, titleOf } from '../maps/map.ts'
import { type Transform, transformMap, transformPlace } from './plan-transform.ts'
import { lockMap, updateMap } from '../maps/store.ts'
import { lockDevicesOnMap, placeDevices } from '../devices/store-placement.ts'

export interface NewPicture {
  readonly files: ImageFiles
  readonly mapId: string
  /** Stored or discarded when the function returns. */
  readonly received: ReceivedImage
  /** Fields of the map that change with it; width and height come from the picture. */
  readonly change: MapDocument
  /** Null leaves everything on the map where it is. */
  readonly transform: Transform | null
}

/**
 * Sets or replaces the picture of a map.
 * @throws AppError not_found.
 */
export async function upsertMapImage(ctx: Context, scope: SiteScope, picture: NewPicture): Promise<void> {
  const { files, received } = picture
  const before = await keepImageFor(files, received, () =>
    inTx(ctx, (tx) => writeImage(tx, scope, picture, ctx.clock.now())),
  )
  await removePictures(files, before)
}

async function writeImage(tx: Tx, scope: SiteScope, picture: NewPicture, at: Date): Promise<SiteMap> {
  const { mapId, received, change, transform } = picture
  const before = await lockMap(tx, scope, mapId)
  if (before === undefined) throw notFound(mapId)
  if (transform !== null) {
    const devices = await lockDevicesOnMap(tx, scope, before.id)
    const places = devices.map(({ id, doc }) => ({ id, fields: transformPlace(doc, transform) }))
    await placeDevices(tx, scope, places, at)
  }
  const drawn = transform === null ? before.doc : transformMap(before.doc, transform)
  const { width, height } = received
  const doc = mergeMap(mergeMap(drawn, change), { width, height })
  const after = await updateMap(tx, scope, { id: mapId, doc, image: received, at })
  await appendAudit(tx, scope, {
    message: `${before.image === null ? 'Add' : 'Replace'} image of Map ${titleOf(after)}`,
    siteId: scope.siteId,
    before: auditDocument(before),
    after: { ...auditDocument(after), ...(transform !== null && { transform: { ...transform } }) },
    at,
  })
  wakeAfterCommit(tx, 'thumbnails')
  return before
}

/** Everything on the map stays where it is. @throws AppError not_found, also for a map without a picture. */
export async function deleteMapImage(
  ctx: Context,
  scope: SiteScope,
  { files, mapId }: { readonly files: ImageFiles; readonly mapId: string },
): Promise<void> {
  const before = await inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    const map = await lockMap(tx, scope, mapId)
    if (map === undefined || map.image === null) throw notFound(mapId)
    await updateMap(tx, scope, { id: mapId, doc: map.doc, image: null, at })
    const message = `Delete image of Map ${titleOf(map)}`
    const doc = auditDocument(map)
    await appendAudit(tx, scope, { message, siteId: scope.siteId, before: doc, after: doc, at })
    return map
  })
  await removePictures(files, before)
}
