import { site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { notFound } from '../../platform/errors.ts'
import { findDevice } from '../store.ts'
import { deleteSupportFile } from './record-file.ts'
import { type SupportOptions, requestSupport } from './request-support.ts'
import { filesOfDevice, findSupportFile, listSupportFiles } from './store.ts'
import type { SupportFiles } from './support-files.ts'
import { SupportBody, SupportFileReply, SupportSession, checkSupport, presentDeviceFile } from './wire.ts'

const tag = 'Sites Devices'
const all = '/devices/:device_id/support'
const one = `${all}/:file_id`
const params = { device_id: Uuid }
const fileParams = { ...params, file_id: Uuid }

/**
 * Files that devices collect for their maker's support. They may contain passwords, hence only admins read them.
 * Source: contract, Utilities Common; the list and the single file are Signalbox's own.
 */
export function supportOperations(files: SupportFiles, options: SupportOptions): Operation[] {
  return [
    operation({
      id: 'uploadSiteDeviceSupportFile',
      summary: 'Make a device collect and upload support files',
      method: 'POST',
      tag,
      at: site(all, { needs: 'operate' }),
      params,
      body: SupportBody,
      reply: SupportSession,
      run: async (ctx, { scope, params: { device_id: deviceId }, body }) => {
        checkSupport(body)
        return { session: await requestSupport(ctx, scope, { deviceId, ...options }) }
      },
    }),
    listOperation({
      id: 'listSiteDeviceSupportFiles',
      summary: 'List the support files of a device',
      tag,
      at: site(all, { needs: 'admin' }),
      params,
      item: SupportFileReply,
      run: async (ctx, { scope, params: { device_id: deviceId }, page }) => {
        if ((await findDevice(ctx.db, scope, deviceId)) === undefined) throw notFound(deviceId)
        const found = await listSupportFiles(ctx.db, filesOfDevice(scope, deviceId), page)
        return presentPage(found, (file) => presentDeviceFile(ctx, { orgId: scope.orgId, deviceId }, file))
      },
    }),
    operation({
      id: 'getSiteDeviceSupportFile',
      summary: 'Get the address of a support file',
      method: 'GET',
      tag,
      at: site(one, { needs: 'admin' }),
      params: fileParams,
      reply: SupportFileReply,
      run: async (ctx, { scope, params: { device_id: deviceId, file_id: id } }) => {
        const file = await findSupportFile(ctx.db, filesOfDevice(scope, deviceId), id)
        if (file === undefined) throw notFound(id)
        return presentDeviceFile(ctx, { orgId: scope.orgId, deviceId }, file)
      },
    }),
    operation({
      id: 'deleteSiteDeviceSupportFile',
      summary: 'Delete a support file',
      method: 'DELETE',
      tag,
      at: site(one, { needs: 'admin' }),
      params: fileParams,
      reply: Empty,
      run: (ctx, { scope, params: { device_id: deviceId, file_id: id } }) =>
        deleteSupportFile(ctx, scope, {
          storage: files,
          files: filesOfDevice(scope, deviceId),
          id,
          of: { title: 'a device', siteId: scope.siteId, deviceId },
        }),
    }),
  ].flat()
}
