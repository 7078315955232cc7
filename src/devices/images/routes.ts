import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorizeSite } from '../../access/authorize.ts'
import { readForm, takeForms } from '../../http/forms.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/db.ts'
import { notFound } from '../../platform/errors.ts'
import { type ImageFiles, discardImage, receiveImage } from '../../platform/images/image-files.ts'
import { findDevice, lockDevice } from '../store.ts'
import { deleteDeviceImage, setDeviceImage } from './set-device-image.ts'
import { getDeviceImageBytes } from './store.ts'
import { DeviceImageForm, DeviceImageParams } from './wire.ts'

const tags = ['Sites Devices']

/** Older clients ask at the first path, newer ones at the second. */
const spellings = [
  { url: '/sites/:site_id/devices/:device_id/image:image_number', operation: 'SiteDeviceImage' },
  { url: '/sites/:site_id/devices/:device_id/image/:image_number', operation: 'SiteDeviceImageByNumber' },
] as const

/** Photos of devices where they hang. Source: contract, Sites Devices. */
export function deviceImageRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(uploadRoutes(ctx, files))

    for (const { url, operation } of spellings)
      http.delete(
        url,
        {
          schema: { operationId: `delete${operation}`, tags, params: DeviceImageParams, response: { 200: Empty } },
        },
        async ({ caller, params }) => {
          const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
          const { device_id: deviceId, image_number: number } = params
          await deleteDeviceImage(ctx, scope, {
            files,
            deviceId,
            lock: (tx) => lockDevice(tx, scope, deviceId),
            number,
          })
          return {}
        },
      )
  }
}

function uploadRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await takeForms(http)

    for (const { url, operation } of spellings)
      http.route({
        method: 'POST',
        url,
        schema: {
          operationId: `add${operation}`,
          tags,
          params: DeviceImageParams,
          body: DeviceImageForm,
          response: { 200: Empty },
        },
        handler: async (request) => {
          const { site_id: siteId, device_id: deviceId, image_number: number } = request.params
          const scope = await authorizeSite(ctx, request.caller, { siteId, needs: 'write' })
          // Before megabytes are read for nothing.
          if ((await findDevice(ctx.db, scope, deviceId)) === undefined) throw notFound(deviceId)
          const replacedBytes = await getDeviceImageBytes(ctx.db, scope, { deviceId, number })
          const { file: received } = await readForm(request, {
            file: 'file',
            maxBytes: files.maxBytes,
            take: ({ body, type: declaredType }) =>
              receiveImage(files, { orgId: scope.orgId, replacedBytes, body, declaredType }),
            discard: discardImage,
          })
          const lock = (tx: Tx) => lockDevice(tx, scope, deviceId)
          await setDeviceImage(ctx, scope, { files, deviceId, lock, number, received })
          return {}
        },
      })
  }
}
