import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type PlaceKind, placeParams } from '../../http/places.ts'
import { setPageHeaders } from '../../http/lists.ts'
import type { Context } from '../../platform/context.ts'
import { enterMxedge, enterPlace, mxedgeParams } from '../place.ts'
import { getMxedge, listMxedges } from '../store.ts'
import { parseMxedges } from '../wire.ts'
import { OneStatsQuery, SiteStatsQuery, StatsQuery, StatsReply, presentStats } from './wire.ts'

/** What edge appliances say of themselves. Source: contract, Orgs Stats and Sites Stats, MxEdges. */
export function mxedgeStatsRoutes(ctx: Context, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const tags = [`${kind.noun}s Stats - MxEdges`]
  return async (http) => {
    http.get(
      '',
      {
        schema: {
          operationId: `list${kind.noun}MxEdgesStats`,
          tags,
          params: placeParams(kind),
          querystring: kind.noun === 'Org' ? StatsQuery : SiteStatsQuery,
          response: { 200: Type.Array(StatsReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await enterPlace(ctx, kind, { caller, params, needs: 'read' })
        const wanted = parseMxedges(query)
        const found = await listMxedges(ctx.db, scope, wanted)
        setPageHeaders(reply, wanted.page, found)
        return reply.send(found.rows.map(presentStats))
      },
    )

    http.get(
      '/:mxedge_id',
      {
        schema: {
          operationId: `get${kind.noun}MxEdgeStats`,
          tags,
          params: mxedgeParams(kind),
          querystring: OneStatsQuery,
          response: { 200: StatsReply },
        },
      },
      async ({ caller, params }, reply) => {
        const { scope, id } = await enterMxedge(ctx, kind, { caller, params, needs: 'read' })
        return reply.send(presentStats(await getMxedge(ctx.db, scope, id)))
      },
    )
  }
}
