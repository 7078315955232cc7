import type { InOrg } from '../access/scope.ts'
import { typeOfModel } from '../devices/registry/models.ts'
import { org, orgSites, orgSitesAndSite } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { deleteFirmware } from './delete-image.ts'
import type { CatalogVersion, FirmwareFiles, FindImageUser } from './firmware.ts'
import { CheckBody, CheckReply, receiveCheck } from './uploads/routes-check.ts'
import { receiveUpload } from './uploads/routes-upload.ts'
import { findImage, listDeviceTypesByModel, listImages, listVersions } from './store.ts'
import {
  ImageReply,
  UploadReply,
  UploadBody,
  UploadQuery,
  type VersionChoice,
  VersionsQuery,
  VersionsReply,
  parseVersionChoice,
  presentImage,
  presentVersion,
} from './wire.ts'

const tag = 'Firmware'
const one = '/firmware/:image_id'
const params = { image_id: Uuid }

/**
 * The firmware catalog, which also has the packages of edge appliances. Upload, list, get and delete of images are
 * Signalbox's own, because the published interface has none; the lists of versions are the interface's.
 * @param users Other users of images; see FindImageUser.
 */
export function firmwareOperations(files: FirmwareFiles, users: readonly FindImageUser[]): Operation[] {
  return [
    uploadOperation(files),
    operation({
      id: 'checkOrgFirmware',
      summary: 'Check the results that uploads of firmware images would have',
      method: 'POST',
      tag,
      at: org('/firmware/check', { needs: 'write' }),
      body: CheckBody,
      reply: CheckReply,
      run: (ctx, { scope, body }) => receiveCheck(ctx, scope, { files, body }),
    }),
    listOperation({
      id: 'listOrgFirmware',
      summary: 'List the firmware images of an organization',
      tag,
      at: orgSites('/firmware', { needs: 'read' }),
      item: ImageReply,
      run: async (ctx, { scope, page }) =>
        presentPage(await listImages(ctx.db, scope, page), (image) => presentImage(scope.orgId, image)),
    }),
    operation({
      id: 'getOrgFirmware',
      summary: 'Get a firmware image',
      method: 'GET',
      tag,
      at: orgSites(one, { needs: 'read' }),
      params,
      reply: ImageReply,
      run: async (ctx, { scope, params: { image_id: id } }) => {
        const image = await findImage(ctx.db, scope, id)
        if (image === undefined) throw notFound(id)
        return presentImage(scope.orgId, image)
      },
    }),
    operation({
      id: 'deleteOrgFirmware',
      summary: 'Delete a firmware image',
      method: 'DELETE',
      tag,
      at: org(one, { needs: 'write' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params: { image_id: imageId } }) => deleteFirmware(ctx, scope, { files, users, imageId }),
    }),
    operation({
      id: { org: 'listOrgAvailableDeviceVersions', site: 'listSiteAvailableDeviceVersions' },
      summary: {
        org: 'List the firmware versions for the devices of an organization',
        site: 'List the firmware versions for the devices of a site',
      },
      method: 'GET',
      tag: { org: tag, site: tag },
      at: orgSitesAndSite('/devices/versions', { needs: 'read' }),
      query: VersionsQuery,
      reply: VersionsReply,
      run: async (ctx, { scope, query }) =>
        (await versionsFor(ctx, scope, parseVersionChoice(query))).map(presentVersion),
    }),
  ].flat()
}

function uploadOperation(files: FirmwareFiles): Operation[] {
  return operation({
    id: 'uploadOrgFirmware',
    summary: 'Upload a firmware image, or a package for edge appliances',
    method: 'POST',
    tag,
    at: org('/firmware', { needs: 'write' }),
    query: UploadQuery,
    body: UploadBody,
    reply: UploadReply,
    run: (ctx, { scope, query, request }) => receiveUpload(ctx, scope, { files, query, request }),
  })
}

async function versionsFor(ctx: Context, scope: InOrg, { type, conditions }: VersionChoice): Promise<CatalogVersion[]> {
  const versions = await listVersions(ctx.db, scope, conditions)
  const types = await listDeviceTypesByModel(ctx.db, scope)
  return versions.filter((version) => (types.get(version.model) ?? typeOfModel(version.model) ?? 'ap') === type)
}
