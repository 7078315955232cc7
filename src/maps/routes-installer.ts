import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { pageQuery, parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty } from '../http/schemas.ts'
import { authorizeInstallerSite } from '../orgs/installers/authorize-installer.ts'
import type { Context } from '../platform/context.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { defineMap } from './create-map.ts'
import { deleteMap } from './delete-map.ts'
import { listMaps } from './store.ts'
import { updateMap } from './update-map.ts'
import { MapBody, MapReply, NamedMapParams, NamedSiteParams, presentMap } from './wire.ts'

const tags = ['Installer']

/** Maps for those who mount devices. Source: spec, "Installer", 9; contract, Installer. */
export function installerMapRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/installer/orgs/:org_id/sites/:site_name/maps',
      {
        schema: {
          operationId: 'listInstallerMaps',
          tags,
          params: NamedSiteParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(MapReply) },
        },
      },
      async ({ caller, params: { org_id: orgId, site_name: siteName }, query }, reply) => {
        const scope = await authorizeInstallerSite(ctx, caller, { orgId, siteName })
        const page = parsePage(query)
        const found = await listMaps(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return found.rows.map((map) => presentMap(ctx, map))
      },
    )

    http.post(
      '/installer/orgs/:org_id/sites/:site_name/maps/:map_id',
      {
        schema: {
          operationId: 'createInstallerMap',
          tags,
          params: NamedMapParams,
          body: MapBody,
          response: { 200: MapReply },
        },
      },
      async ({ caller, params: { org_id: orgId, site_name: siteName, map_id: mapId }, body }) => {
        const scope = await authorizeInstallerSite(ctx, caller, { orgId, siteName })
        return presentMap(ctx, await defineMap(ctx, scope, { mapId, body }))
      },
    )

    http.put(
      '/installer/orgs/:org_id/sites/:site_name/maps/:map_id',
      {
        schema: {
          operationId: 'updateInstallerMap',
          tags,
          params: NamedMapParams,
          body: MapBody,
          response: { 200: MapReply },
        },
      },
      async ({ caller, params: { org_id: orgId, site_name: siteName, map_id: mapId }, body }) => {
        const scope = await authorizeInstallerSite(ctx, caller, { orgId, siteName })
        return presentMap(ctx, await updateMap(ctx, scope, { mapId, change: body }))
      },
    )

    http.delete(
      '/installer/orgs/:org_id/sites/:site_name/maps/:map_id',
      { schema: { operationId: 'deleteInstallerMap', tags, params: NamedMapParams, response: { 200: Empty } } },
      async ({ caller, params: { org_id: orgId, site_name: siteName, map_id: mapId } }) => {
        const scope = await authorizeInstallerSite(ctx, caller, { orgId, siteName })
        await deleteMap(ctx, scope, { files, mapId })
        return {}
      },
    )
  }
}
