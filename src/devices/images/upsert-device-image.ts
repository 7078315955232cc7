import type { InOrg } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { type ImageFiles, type ReceivedImage, keepImageFor, removeImage } from '../../platform/images/image-files.ts'
import type { Device } from '../store.ts'
import { deleteDeviceImageRow, upsertDeviceImageRow } from './store.ts'

/** One of the pictures of a device. */
export interface ImagePlace {
  readonly files: ImageFiles
  readonly deviceId: string
  /** Locks the device if the caller may change it: at a site, or as an installer. */
  readonly lock: (tx: Tx) => Promise<Device | undefined>
  /** 1 to 3. */
  readonly number: number
}

/**
 * Sets or replaces one of the pictures of a device.
 * @param received Stored or discarded when this returns.
 * @throws AppError not_found.
 */
export async function upsertDeviceImage(
  ctx: Context,
  scope: InOrg,
  { files, deviceId, lock, number, received }: ImagePlace & { readonly received: ReceivedImage },
): Promise<void> {
  const replaced = await keepImageFor(files, received, () =>
    inTx(ctx, async (tx) => {
      const device = await lock(tx)
      if (device === undefined) throw notFound(deviceId)
      const at = ctx.clock.now()
      const { name, sizeBytes: bytes, width, height } = received
      const before = await upsertDeviceImageRow(tx, scope, {
        deviceId: device.id,
        number,
        name,
        bytes,
        width,
        height,
        at,
      })
      await appendAudit(tx, scope, {
        message: `${before === null ? 'Add' : 'Replace'} image ${number} of device ${device.name ?? device.mac}`,
        siteId: device.siteId,
        deviceId,
        after: { mac: device.mac, image_number: number, width, height },
        at,
      })
      return before
    }),
  )
  if (replaced !== null) await removeImage(files, replaced)
}

/** @throws AppError not_found, also for a number without a picture. */
export async function deleteDeviceImage(
  ctx: Context,
  scope: InOrg,
  { files, deviceId, lock, number }: ImagePlace,
): Promise<void> {
  const removed = await inTx(ctx, async (tx) => {
    const device = await lock(tx)
    if (device === undefined) throw notFound(deviceId)
    const name = await deleteDeviceImageRow(tx, scope, { deviceId: device.id, number })
    if (name === null) throw notFound(`image${number}`)
    await appendAudit(tx, scope, {
      message: `Delete image ${number} of device ${device.name ?? device.mac}`,
      siteId: device.siteId,
      deviceId,
      before: { mac: device.mac, image_number: number },
      at: ctx.clock.now(),
    })
    return name
  })
  await removeImage(files, removed)
}
