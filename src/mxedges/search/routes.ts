import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../../access/authorize.ts'
import { OrgParams } from '../../http/schemas.ts'
import { CountReply, presentCounts, presentSearch } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { presentStats } from '../stats/wire.ts'
import { countMxedges, searchMxedges } from './store.ts'
import { MxedgeCountQuery, MxedgeSearchQuery, MxedgeSearchReply, parseMxedgeCount, parseMxedgeSearch } from './wire.ts'

const tags = ['Orgs MxEdges']

/** Edge appliances by what they are. Source: contract, Orgs MxEdges. */
export function mxedgeSearchRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/mxedges/search',
      {
        schema: {
          operationId: 'searchOrgMxEdges',
          tags,
          params: OrgParams,
          querystring: MxedgeSearchQuery,
          response: { 200: MxedgeSearchReply },
        },
      },
      async ({ caller, params, query, url }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const search = parseMxedgeSearch(query, ctx.clock.now())
        return presentSearch(await searchMxedges(ctx.db, scope, search), presentStats, { search, url })
      },
    )

    http.get(
      '/orgs/:org_id/mxedges/count',
      {
        schema: {
          operationId: 'countOrgMxEdges',
          tags,
          params: OrgParams,
          querystring: MxedgeCountQuery,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const count = parseMxedgeCount(query, ctx.clock.now())
        return presentCounts(await countMxedges(ctx.db, scope, count), count)
      },
    )
  }
}
