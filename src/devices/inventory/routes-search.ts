import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../../access/authorize.ts'
import { OrgParams } from '../../http/schemas.ts'
import { CountReply, presentCounts } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { countInventory, searchInventory } from './store-search.ts'
import {
  InventoryCountQuery,
  InventorySearchQuery,
  InventorySearchReply,
  parseInventoryCount,
  parseInventorySearch,
  presentInventorySearch,
} from './wire-search.ts'

const tags = ['Orgs Inventory']

/** The inventory by what its devices are. Source: contract, Orgs Inventory. */
export function inventorySearchRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/inventory/search',
      {
        schema: {
          operationId: 'searchOrgInventory',
          tags,
          params: OrgParams,
          querystring: InventorySearchQuery,
          response: { 200: InventorySearchReply },
        },
      },
      async ({ caller, params, query, url }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const search = parseInventorySearch(query)
        const found = await searchInventory(ctx.db, scope, { ...search, page: search })
        return presentInventorySearch(found, search, url)
      },
    )

    http.get(
      '/orgs/:org_id/inventory/count',
      {
        schema: {
          operationId: 'countOrgInventory',
          tags,
          params: OrgParams,
          querystring: InventoryCountQuery,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const count = parseInventoryCount(query, ctx.clock.now())
        return presentCounts(await countInventory(ctx.db, scope, count), count)
      },
    )
  }
}
