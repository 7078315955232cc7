import type { FastifyRequest } from 'fastify'
import type { SiteScope } from '../access/scope.ts'
import { site } from '../http/at.ts'
import { type FormFields, readForm } from '../http/bodies/forms.ts'
import { type Operation, operation } from '../http/operation.ts'
import { assertReadOnly } from '../http/read-only-fields.ts'
import { Empty } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { type ImageFiles, type ReceivedImage, discardImage, receiveImage } from '../platform/images/image-files.ts'
import type { NewUpload } from '../platform/storage/upload-quota.ts'
import { deleteMapImage, upsertMapImage } from './upsert-map-image.ts'
import type { MapDocument, SiteMap } from '../maps/map.ts'
import { findMap } from '../maps/store.ts'
import { mapParams as params, presentMap } from '../maps/wire.ts'
import { ImageForm, ReplaceForm, parseImageChange, parseTransform } from './wire-images.ts'

const tag = 'Sites Maps'
const image = site('/maps/:map_id/image', { needs: 'write' })

/** Pictures of maps. Source: contract, Sites Maps. */
export function mapImageOperations(files: ImageFiles): Operation[] {
  return [
    operation({
      id: 'addSiteMapImage',
      summary: 'Upload the image of a floor plan',
      method: 'POST',
      tag,
      at: image,
      params,
      body: ImageForm,
      reply: Empty,
      run: async (ctx, { scope, params, request }) => {
        const map = await getMap(ctx, scope, params.map_id)
        const parse = (fields: FormFields): MapDocument => {
          const change = parseImageChange(fields)
          assertReadOnly('SiteMap', change, presentMap(ctx, map))
          return change
        }
        const { received, said: change } = await receive(request, { files, room: roomOf(map), parse })
        await upsertMapImage(ctx, scope, { files, mapId: params.map_id, received, change, transform: null })
      },
    }),
    operation({
      id: 'deleteSiteMapImage',
      summary: 'Delete the image of a floor plan',
      method: 'DELETE',
      tag,
      at: image,
      params,
      reply: Empty,
      run: (ctx, { scope, params }) => deleteMapImage(ctx, scope, { files, mapId: params.map_id }),
    }),
    operation({
      id: 'replaceSiteMapImage',
      summary: 'Replace the image of a floor plan and move its devices and drawings',
      method: 'POST',
      tag,
      at: site('/maps/:map_id/replace', { needs: 'write' }),
      params,
      body: ReplaceForm,
      reply: Empty,
      run: async (ctx, { scope, params, request }) => {
        const room = roomOf(await getMap(ctx, scope, params.map_id))
        const { received, said: transform } = await receive(request, { files, room, parse: parseTransform })
        await upsertMapImage(ctx, scope, { files, mapId: params.map_id, received, change: {}, transform })
      },
    }),
  ].flat()
}

/** Refuses an unknown map before megabytes are read. @throws AppError not_found. */
async function getMap(ctx: Context, scope: SiteScope, mapId: string): Promise<SiteMap> {
  const map = await findMap(ctx.db, scope, mapId)
  if (map === undefined) throw notFound(mapId)
  return map
}

/** Returns the data of a map's picture that the quota needs. */
function roomOf({ orgId, imageBytes, thumbnailBytes }: SiteMap): NewUpload {
  return { orgId, replacedBytes: imageBytes + thumbnailBytes }
}

interface Reception<T> {
  readonly files: ImageFiles
  readonly room: NewUpload
  readonly parse: (fields: FormFields) => T
}

/** @throws AppError after discarding the picture. */
async function receive<T>(
  request: FastifyRequest,
  { files, room, parse }: Reception<T>,
): Promise<{ readonly received: ReceivedImage; readonly said: T }> {
  const { file: received, fields } = await readForm(request, {
    file: 'file',
    texts: ['json'],
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
