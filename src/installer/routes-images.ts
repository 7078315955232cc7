import { plainMac } from '../devices/device.ts'
import { type ImagePlace, deleteDeviceImage, upsertDeviceImage } from '../devices/images/upsert-device-image.ts'
import { getDeviceImageBytes } from '../devices/images/store.ts'
import { type Operation, operation } from '../http/operation.ts'
import { PhotoForm, receivePhoto } from '../http/bodies/photo-forms.ts'
import { Empty } from '../http/schemas.ts'
import { installer } from '../orgs/installers/at.ts'
import type { Installer } from '../orgs/installers/reach.ts'
import type { Context } from '../platform/context.ts'
import type { Tx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { findInstallerDevice, lockInstallerDevice } from './store.ts'
import { deviceImageParams, imageNumberOf } from './wire.ts'

const tag = 'Installer'
/** The pattern leaves other names to other operations. */
const at = installer('/devices/:device_mac/:image_name(^image[1-3]$)')

/** Photos of devices by the people who mount them. Source: contract, Installer. */
export function installerImageOperations(files: ImageFiles): Operation[] {
  return [
    operation({
      id: 'addInstallerDeviceImage',
      summary: 'Upload a photograph of a device as an installer',
      method: 'POST',
      tag,
      at,
      params: deviceImageParams,
      body: PhotoForm,
      reply: Empty,
      run: async (ctx, { scope: installer, params, request }) => {
        // Refuses an unknown device before megabytes are read.
        const place = await getImagePlace(ctx, installer, { files, params })
        const { scope } = installer
        const replacedBytes = await getDeviceImageBytes(ctx.db, scope, place)
        const received = await receivePhoto(request, files, { orgId: scope.orgId, replacedBytes })
        await upsertDeviceImage(ctx, scope, { ...place, received })
      },
    }),
    operation({
      id: 'deleteInstallerDeviceImage',
      summary: 'Delete a photograph of a device as an installer',
      method: 'DELETE',
      tag,
      at,
      params: deviceImageParams,
      reply: Empty,
      run: async (ctx, { scope: installer, params }) => {
        const place = await getImagePlace(ctx, installer, { files, params })
        await deleteDeviceImage(ctx, installer.scope, place)
      },
    }),
  ].flat()
}

interface Asked {
  readonly files: ImageFiles
  readonly params: { readonly device_mac: string; readonly image_name: string }
}

/** @throws AppError not_found for a device that the installer may not touch. */
async function getImagePlace(ctx: Context, installer: Installer, { files, params }: Asked): Promise<ImagePlace> {
  const mac = plainMac(params.device_mac)
  const device = await findInstallerDevice(ctx.db, installer, mac)
  if (device === undefined) throw notFound(mac)
  const lock = (tx: Tx) => lockInstallerDevice(tx, installer, mac)
  return { files, deviceId: device.id, lock, number: imageNumberOf(params.image_name) }
}
