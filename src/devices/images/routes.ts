import { site } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { PhotoForm, receivePhoto } from '../../http/bodies/photo-forms.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import type { Tx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { ImageFiles } from '../../platform/images/image-files.ts'
import { findDevice, lockDevice } from '../store.ts'
import { deleteDeviceImage, upsertDeviceImage } from './upsert-device-image.ts'
import { getDeviceImageBytes } from './store.ts'
import { ImageNumber } from './wire.ts'

/** Older clients use the first path, newer ones the second. */
const spellings = [
  { path: '/devices/:device_id/image:image_number', noun: 'SiteDeviceImage', which: '' },
  {
    path: '/devices/:device_id/image/:image_number',
    noun: 'SiteDeviceImageByNumber',
    which: ' by the path with a separate number',
  },
]

/** Photos of installed devices. Source: contract, Sites Devices. */
export function deviceImageOperations(files: ImageFiles): Operation[] {
  return spellings.flatMap(({ path, noun, which }) => {
    const common = {
      tag: 'Sites Devices' as const,
      at: site(path, { needs: 'write' }),
      params: { device_id: Uuid, image_number: ImageNumber },
      reply: Empty,
    }
    return [
      operation({
        ...common,
        id: `add${noun}`,
        summary: `Upload a photograph of a device${which}`,
        method: 'POST',
        body: PhotoForm,
        run: async (ctx, { scope, params: { device_id: deviceId, image_number: number }, request }) => {
          // An unknown device is refused before megabytes are read.
          if ((await findDevice(ctx.db, scope, deviceId)) === undefined) throw notFound(deviceId)
          const replacedBytes = await getDeviceImageBytes(ctx.db, scope, { deviceId, number })
          const received = await receivePhoto(request, files, { orgId: scope.orgId, replacedBytes })
          const lock = (tx: Tx) => lockDevice(tx, scope, deviceId)
          await upsertDeviceImage(ctx, scope, { files, deviceId, lock, number, received })
        },
      }),
      operation({
        ...common,
        id: `delete${noun}`,
        summary: `Delete a photograph of a device${which}`,
        method: 'DELETE',
        run: (ctx, { scope, params: { device_id: deviceId, image_number: number } }) =>
          deleteDeviceImage(ctx, scope, { files, deviceId, lock: (tx) => lockDevice(tx, scope, deviceId), number }),
      }),
    ].flat()
  })
}
