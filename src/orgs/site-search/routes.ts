import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../../access/authorize.ts'
import { setPageHeaders } from '../../http/lists.ts'
import { OrgParams } from '../../http/schemas.ts'
import { CountReply, presentCounts, presentSearch } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { countSites, searchSites } from './store.ts'
import {
  SitesCountQuery,
  SitesSearchQuery,
  SitesSearchReply,
  parseSitesCount,
  parseSitesSearch,
  presentFoundSite,
} from './wire.ts'

const tags = ['Orgs Sites']

/** Sites by what they and their settings say. Source: contract, Orgs Sites. */
export function siteSearchRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/sites/search',
      {
        schema: {
          operationId: 'searchOrgSites',
          tags,
          params: OrgParams,
          querystring: SitesSearchQuery,
          response: { 200: SitesSearchReply },
        },
      },
      async ({ caller, params, query, url }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const parsed = parseSitesSearch(query, ctx.clock.now())
        const found = await searchSites(ctx.db, scope, parsed)
        setPageHeaders(reply, parsed.page, found)
        return presentSearch(found, presentFoundSite, { search: parsed.page, url })
      },
    )

    http.get(
      '/orgs/:org_id/sites/count',
      {
        schema: {
          operationId: 'countOrgSites',
          tags,
          params: OrgParams,
          querystring: SitesCountQuery,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const count = parseSitesCount(query, ctx.clock.now())
        return presentCounts(await countSites(ctx.db, scope, count), count)
      },
    )
  }
}
