import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorizeSite } from '../../access/authorize.ts'
import { parsePage, setPageHeaders } from '../../http/lists.ts'
import { SiteParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { createMapStack } from './create-map-stack.ts'
import { listMapStacks } from './store.ts'
import { MapStackBody, MapStackReply, MapStacksQuery, presentMapStack } from './wire.ts'

const tags = ['Sites MapStacks']

/** Source: addendum, Sites MapStacks. */
export function mapStackRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/sites/:site_id/mapstacks',
      {
        schema: {
          operationId: 'listSiteMapStacks',
          tags,
          params: SiteParams,
          querystring: MapStacksQuery,
          response: { 200: Type.Array(MapStackReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listMapStacks(ctx.db, scope, { name: query.name ?? null, page })
        setPageHeaders(reply, page, found)
        return found.rows.map(presentMapStack)
      },
    )

    http.post(
      '/sites/:site_id/mapstacks',
      {
        schema: {
          operationId: 'createSiteMapStack',
          tags,
          params: SiteParams,
          body: MapStackBody,
          response: { 200: MapStackReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        return presentMapStack(await createMapStack(ctx, scope, body))
      },
    )
  }
}
