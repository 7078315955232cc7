import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { authorizeSite } from '../access/authorize.ts'
import type { SiteScope } from '../access/scope.ts'
import { type FormFields, readForm, takeForms } from '../http/forms.ts'
import { Empty } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { type ImageFiles, type ReceivedImage, discardImage, receiveImage } from '../platform/images/image-files.ts'
import type { NewUpload } from '../platform/storage/upload-quota.ts'
import { deleteImage, setImage } from './set-image.ts'
import { findMap } from './store.ts'
import { MapParams } from './wire.ts'
import { ImageForm, ReplaceForm, parseImageChange, parseTransform } from './wire-images.ts'

const tags = ['Sites Maps']

/** Pictures of maps. Source: contract, Sites Maps. */
export function mapImageRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(uploadRoutes(ctx, files))

    http.delete(
      '/sites/:site_id/maps/:map_id/image',
      { schema: { operationId: 'deleteSiteMapImage', tags, params: MapParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        await deleteImage(ctx, scope, { files, mapId: params.map_id })
        return {}
      },
    )
  }
}

function uploadRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await takeForms(http)

    http.route({
      method: 'POST',
      url: '/sites/:site_id/maps/:map_id/image',
      schema: {
        operationId: 'addSiteMapImage',
        tags,
        params: MapParams,
        body: ImageForm,
        response: { 200: Empty },
      },
      handler: async (request) => {
        const { caller, params } = request
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        const room = await roomOf(ctx, scope, params.map_id)
        const { received, said: change } = await receive(request, { files, room, parse: parseImageChange })
        await setImage(ctx, scope, { files, mapId: params.map_id, received, change, transform: null })
        return {}
      },
    })

    http.route({
      method: 'POST',
      url: '/sites/:site_id/maps/:map_id/replace',
      schema: {
        operationId: 'replaceSiteMapImage',
        tags,
        params: MapParams,
        body: ReplaceForm,
        response: { 200: Empty },
      },
      handler: async (request) => {
        const { caller, params } = request
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        const room = await roomOf(ctx, scope, params.map_id)
        const { received, said: transform } = await receive(request, { files, room, parse: parseTransform })
        await setImage(ctx, scope, { files, mapId: params.map_id, received, change: {}, transform })
        return {}
      },
    })
  }
}

/** What the quota has to know of a picture for the map. Asked before megabytes are read for nothing. */
async function roomOf(ctx: Context, scope: SiteScope, mapId: string): Promise<NewUpload> {
  const map = await findMap(ctx.db, scope, mapId)
  if (map === undefined) throw notFound(mapId)
  return { orgId: scope.orgId, replacedBytes: map.imageBytes + map.thumbnailBytes }
}

interface Reception<T> {
  readonly files: ImageFiles
  readonly room: NewUpload
  readonly parse: (fields: FormFields) => T
}

/** @throws AppError, and then nothing is left of the picture. */
async function receive<T>(
  request: FastifyRequest,
  { files, room, parse }: Reception<T>,
): Promise<{ readonly received: ReceivedImage; readonly said: T }> {
  const { file: received, fields } = await readForm(request, {
    file: 'file',
    maxBytes: files.maxBytes,
    take: ({ body, type: declaredType }) => receiveImage(files, { ...room, body, declaredType }),
    discard: discardImage,
  })
  try {
    return { received, said: parse(fields) }
  } catch (error) {
    await discardImage(received)
    throw error
  }
}
