import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type PlaceKind, placeParams } from '../../http/places.ts'
import { CountReply, presentCounts, presentSearch } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { enterPlace } from '../place.ts'
import { countEvents, searchEvents } from './store.ts'
import {
  EventCountQuery,
  EventSearchQuery,
  EventSearchReply,
  parseEventCount,
  parseEventSearch,
  presentEvent,
} from './wire.ts'

/** The contract calls one operation of each pair otherwise than its sibling. */
const operationIds = {
  Org: { search: 'searchOrgMistEdgeEvents', count: 'countOrgSiteMxEdgeEvents' },
  Site: { search: 'searchSiteMistEdgeEvents', count: 'countSiteMxEdgeEvents' },
} as const

/** What happened to edge appliances. Source: contract, Orgs MxEdges and Sites MxEdges. */
export function mxedgeEventRoutes(ctx: Context, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const params = placeParams(kind)
  const tags = [`${kind.noun}s MxEdges`]
  return async (http) => {
    http.get(
      '/events/search',
      {
        schema: {
          operationId: operationIds[kind.noun].search,
          tags,
          params,
          querystring: EventSearchQuery,
          response: { 200: EventSearchReply },
        },
      },
      async ({ caller, params, query, url }, reply) => {
        const scope = await enterPlace(ctx, kind, { caller, params, needs: 'read' })
        const search = parseEventSearch(query, ctx.clock.now())
        const found = await searchEvents(ctx.db, scope, search)
        return reply.send({ ...presentSearch(found, presentEvent, { search, url }), page: search.page })
      },
    )

    http.get(
      '/events/count',
      {
        schema: {
          operationId: operationIds[kind.noun].count,
          tags,
          params,
          querystring: EventCountQuery,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await enterPlace(ctx, kind, { caller, params, needs: 'read' })
        const count = parseEventCount(query, ctx.clock.now())
        return reply.send(presentCounts(await countEvents(ctx.db, scope, count), count))
      },
    )
  }
}
