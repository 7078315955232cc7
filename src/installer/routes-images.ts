import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { deleteDeviceImage, setDeviceImage } from '../devices/images/set-device-image.ts'
import { getDeviceImageBytes } from '../devices/images/store.ts'
import { DeviceImageForm } from '../devices/images/wire.ts'
import { readForm, takeForms } from '../http/forms.ts'
import { Empty } from '../http/schemas.ts'
import { authorizeInstaller } from '../orgs/installers/authorize-installer.ts'
import type { Context } from '../platform/context.ts'
import type { Tx } from '../platform/db.ts'
import { notFound } from '../platform/errors.ts'
import { type ImageFiles, discardImage, receiveImage } from '../platform/images/image-files.ts'
import { findInstallerDevice, lockInstallerDevice } from './store.ts'
import { DeviceImageParams, imageNumberOf, macOf } from './wire.ts'

const tags = ['Installer']
/** Other names lead to other operations, or to none. */
const url = '/installer/orgs/:org_id/devices/:device_mac/:image_name(^image[1-3]$)'

/** Photos of devices by those who have just mounted them. Source: contract, Installer. */
export function installerImageRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(uploadRoute(ctx, files))

    http.delete(
      url,
      {
        schema: {
          operationId: 'deleteInstallerDeviceImage',
          tags,
          params: DeviceImageParams,
          response: { 200: Empty },
        },
      },
      async ({ caller, params }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        const mac = macOf(params.device_mac)
        const lock = (tx: Tx) => lockInstallerDevice(tx, installer, mac)
        const number = imageNumberOf(params.image_name)
        const device = await findInstallerDevice(ctx.db, installer, mac)
        if (device === undefined) throw notFound(mac)
        await deleteDeviceImage(ctx, installer.scope, { files, deviceId: device.id, lock, number })
        return {}
      },
    )
  }
}

function uploadRoute(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await takeForms(http)

    http.route({
      method: 'POST',
      url,
      schema: {
        operationId: 'addInstallerDeviceImage',
        tags,
        params: DeviceImageParams,
        body: DeviceImageForm,
        response: { 200: Empty },
      },
      handler: async (request) => {
        const { caller, params } = request
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        const mac = macOf(params.device_mac)
        // Before megabytes are read for nothing.
        const device = await findInstallerDevice(ctx.db, installer, mac)
        if (device === undefined) throw notFound(mac)
        const number = imageNumberOf(params.image_name)
        const { scope } = installer
        const replacedBytes = await getDeviceImageBytes(ctx.db, scope, { deviceId: device.id, number })
        const { file: received } = await readForm(request, {
          file: 'file',
          maxBytes: files.maxBytes,
          take: ({ body, type: declaredType }) =>
            receiveImage(files, { orgId: scope.orgId, replacedBytes, body, declaredType }),
          discard: discardImage,
        })
        const lock = (tx: Tx) => lockInstallerDevice(tx, installer, mac)
        await setDeviceImage(ctx, scope, { files, deviceId: device.id, lock, number, received })
        return {}
      },
    })
  }
}
