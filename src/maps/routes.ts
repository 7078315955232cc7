import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorizeSite } from '../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, SiteParams } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { createMap } from './create-map.ts'
import { deleteMap } from './delete-map.ts'
import { linkWayfinding } from './link-wayfinding.ts'
import { setMap } from './set-map.ts'
import { findMap, listMaps } from './store.ts'
import { updateMap } from './update-map.ts'
import {
  MapBody,
  MapParams,
  MapReply,
  SetMapBody,
  SetMapReply,
  WayfindingImportBody,
  parseWayfinding,
  presentMap,
} from './wire.ts'

const tags = ['Sites Maps']

/** Maps of sites. Source: contract, Sites Maps. */
export function mapRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/sites/:site_id/maps',
      {
        schema: {
          operationId: 'listSiteMaps',
          tags,
          params: SiteParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(MapReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listMaps(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return found.rows.map((map) => presentMap(ctx, map))
      },
    )

    http.post(
      '/sites/:site_id/maps',
      {
        schema: {
          operationId: 'createSiteMap',
          tags,
          params: SiteParams,
          body: MapBody,
          response: { 200: MapReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        return presentMap(ctx, await createMap(ctx, scope, body))
      },
    )

    http.get(
      '/sites/:site_id/maps/:map_id',
      { schema: { operationId: 'getSiteMap', tags, params: MapParams, response: { 200: MapReply } } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const map = await findMap(ctx.db, scope, params.map_id)
        if (map === undefined) throw notFound(params.map_id)
        return presentMap(ctx, map)
      },
    )

    http.put(
      '/sites/:site_id/maps/:map_id',
      {
        schema: {
          operationId: 'updateSiteMap',
          tags,
          params: MapParams,
          body: MapBody,
          response: { 200: MapReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        return presentMap(ctx, await updateMap(ctx, scope, { mapId: params.map_id, change: body }))
      },
    )

    http.delete(
      '/sites/:site_id/maps/:map_id',
      { schema: { operationId: 'deleteSiteMap', tags, params: MapParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        await deleteMap(ctx, scope, { files, mapId: params.map_id })
        return {}
      },
    )

    http.post(
      '/sites/:site_id/maps/:map_id/set_map',
      {
        schema: {
          operationId: 'bulkAssignSiteApsToMap',
          tags,
          params: MapParams,
          body: SetMapBody,
          response: { 200: SetMapReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        const { moved, locked } = await setMap(ctx, scope, { mapId: params.map_id, macs: body.macs })
        return { moved: [...moved], locked: [...locked] }
      },
    )

    http.post(
      '/sites/:site_id/maps/:map_id/wayfinding/import',
      {
        schema: {
          operationId: 'importSiteWayfindings',
          tags,
          params: MapParams,
          body: WayfindingImportBody,
          response: { 200: Empty },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        await linkWayfinding(ctx, scope, { mapId: params.map_id, ...parseWayfinding(body) })
        return {}
      },
    )
  }
}
