import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize, authorizeSite } from '../access/authorize.ts'
import type { OrgScope } from '../access/scope.ts'
import { typeOfModel } from '../devices/registry/models.ts'
import { parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams, SiteParams } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { uploadTooLarge } from '../platform/storage/uploads.ts'
import { deleteFirmware } from './delete-image.ts'
import type { CatalogVersion, FirmwareFiles } from './firmware.ts'
import { findImage, listDeviceTypesByModel, listImages, listVersions } from './store.ts'
import { uploadImage } from './upload-image.ts'
import {
  ImageParams,
  ImageReply,
  ListQuery,
  UploadBody,
  UploadQuery,
  type VersionChoice,
  VersionsQuery,
  VersionsReply,
  parseOffer,
  parseVersionChoice,
  presentImage,
  presentVersion,
} from './wire.ts'

const tags = ['Firmware']

/** A client that sends nothing for so long has gone, whatever its socket says. */
const IDLE_MS = 60_000

/**
 * The firmware catalog. Upload, list, get and delete of images are our own (the interface has none);
 * the versions listings are the interface's.
 */
export function firmwareRoutes(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(uploadRoute(ctx, files))

    http.get(
      '/orgs/:org_id/firmware',
      {
        schema: {
          operationId: 'listOrgFirmware',
          tags,
          params: OrgParams,
          querystring: ListQuery,
          response: { 200: Type.Array(ImageReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const page = parsePage(query)
        const found = await listImages(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return found.rows.map((image) => presentImage(scope.orgId, image))
      },
    )

    http.get(
      '/orgs/:org_id/firmware/:image_id',
      { schema: { operationId: 'getOrgFirmware', tags, params: ImageParams, response: { 200: ImageReply } } },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const image = await findImage(ctx.db, scope, params.image_id)
        if (image === undefined) throw notFound(params.image_id)
        return presentImage(scope.orgId, image)
      },
    )

    http.delete(
      '/orgs/:org_id/firmware/:image_id',
      { schema: { operationId: 'deleteOrgFirmware', tags, params: ImageParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        await deleteFirmware(ctx, scope, { files, imageId: params.image_id })
        return {}
      },
    )

    http.get(
      '/orgs/:org_id/devices/versions',
      {
        schema: {
          operationId: 'listOrgAvailableDeviceVersions',
          tags,
          params: OrgParams,
          querystring: VersionsQuery,
          response: { 200: VersionsReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        return (await versionsFor(ctx, scope, parseVersionChoice(query))).map(presentVersion)
      },
    )

    http.get(
      '/sites/:site_id/devices/versions',
      {
        schema: {
          operationId: 'listSiteAvailableDeviceVersions',
          tags,
          params: SiteParams,
          querystring: VersionsQuery,
          response: { 200: VersionsReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        return (await versionsFor(ctx, scope, parseVersionChoice(query))).map(presentVersion)
      },
    )
  }
}

/** In a context of its own: its body is the image, whatever content type the client puts on it. */
function uploadRoute(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    const receiving = new Set<Readable>()
    // A stop does not wait for uploads: their clients see that they were cut.
    http.addHook('preClose', async () => receiving.forEach((body) => body.destroy()))
    http.removeAllContentTypeParsers()
    http.addContentTypeParser('*', (_request, body, done) => done(null, body))
    http.post(
      '/orgs/:org_id/firmware',
      {
        schema: {
          operationId: 'uploadOrgFirmware',
          tags,
          params: OrgParams,
          querystring: UploadQuery,
          body: UploadBody,
          response: { 200: ImageReply },
        },
        // What is left of a body that was refused is not worth reading.
        onError: async (_request, reply) => void reply.header('connection', 'close'),
      },
      async ({ caller, params, query, headers, body, raw }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        const offer = parseOffer(query)
        const length = headers['content-length']
        const declaredBytes = length === undefined ? undefined : Number(length)
        if (declaredBytes !== undefined && declaredBytes > files.maxBytes) throw uploadTooLarge(files.maxBytes)
        const image = imageIn(body, headers['content-type'])
        receiving.add(image)
        image.once('close', () => receiving.delete(image))
        raw.setTimeout(IDLE_MS)
        return presentImage(scope.orgId, await uploadImage(ctx, scope, { files, body: image, declaredBytes, offer }))
      },
    )
  }
}

function imageIn(body: unknown, contentType = ''): Readable {
  // Its boundaries would become part of the image.
  if (/^multipart\//i.test(contentType)) throw new AppError('invalid', 'Send the image as the body itself, not a form.')
  if (body instanceof Readable) return body
  throw new AppError('invalid', 'The body is empty: send the image as it is.')
}

async function versionsFor(ctx: Context, scope: OrgScope, { type, model }: VersionChoice): Promise<CatalogVersion[]> {
  const versions = await listVersions(ctx.db, scope, model === undefined ? {} : { models: [model] })
  const types = await listDeviceTypesByModel(ctx.db, scope)
  return versions.filter((version) => (types.get(version.model) ?? typeOfModel(version.model) ?? 'ap') === type)
}
