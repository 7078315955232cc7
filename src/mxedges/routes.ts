import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../access/authorize.ts'
import { setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import { revealsSecrets } from '../orgs/reveal.ts'
import type { Context } from '../platform/context.ts'
import { clusterRoutes } from './clusters/routes.ts'
import { createMxedge } from './create-mxedge.ts'
import { deleteMxedge } from './delete-mxedge.ts'
import { mxedgeEventRoutes } from './events/routes.ts'
import { type PlaceKind, enterMxedge, enterPlace, mxedgeParams, orgPlaces, placeParams, sitePlaces } from './place.ts'
import { mxedgeSearchRoutes } from './search/routes.ts'
import { mxedgeStatsRoutes } from './stats/routes.ts'
import { agentRoutes } from './routes-agent.ts'
import { registrationRoutes } from './routes-registration.ts'
import { getMxedge, listMxedges } from './store.ts'
import { updateMxedge } from './update-mxedge.ts'
import {
  CreateMxedgeBody,
  MxedgeReply,
  MxedgesQuery,
  SiteMxedgesQuery,
  UpdateMxedgeBody,
  parseMxedges,
  presentMxedge,
} from './wire.ts'

/** Edge appliances and what belongs to them. Source: contract, Orgs MxEdges, Sites MxEdges, Orgs MxClusters. */
export function mxedgeRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(clusterRoutes(ctx))
    await http.register(createRoute(ctx))
    await http.register(registrationRoutes(ctx))
    await http.register(mxedgeSearchRoutes(ctx))
    await http.register(agentRoutes(ctx))
    for (const kind of [orgPlaces, sitePlaces]) {
      await http.register(listRoute(ctx, kind), { prefix: `${kind.prefix}/mxedges` })
      await http.register(mxedgeEventRoutes(ctx, kind), { prefix: `${kind.prefix}/mxedges` })
      await http.register(mxedgeStatsRoutes(ctx, kind), { prefix: `${kind.prefix}/stats/mxedges` })
      await http.register(singleRoutes(ctx, kind), { prefix: `${kind.prefix}/mxedges/:mxedge_id` })
    }
  }
}

function createRoute(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/orgs/:org_id/mxedges',
      {
        schema: {
          operationId: 'createOrgMxEdge',
          tags: ['Orgs MxEdges'],
          params: OrgParams,
          body: CreateMxedgeBody,
          response: { 200: MxedgeReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentMxedge(await createMxedge(ctx, scope, body), await revealsSecrets(ctx, caller, scope))
      },
    )
  }
}

function listRoute(ctx: Context, kind: PlaceKind): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '',
      {
        schema: {
          operationId: `list${kind.noun}MxEdges`,
          tags: [`${kind.noun}s MxEdges`],
          params: placeParams(kind),
          querystring: kind.noun === 'Org' ? MxedgesQuery : SiteMxedgesQuery,
          response: { 200: Type.Array(MxedgeReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await enterPlace(ctx, kind, { caller, params, needs: 'read' })
        const wanted = parseMxedges(query)
        const { rows, total } = await listMxedges(ctx.db, scope, wanted)
        setPageHeaders(reply, wanted.page, total)
        const withSecrets = await revealsSecrets(ctx, caller, scope)
        return reply.send(rows.map((mxedge) => presentMxedge(mxedge, withSecrets)))
      },
    )
  }
}

function singleRoutes(ctx: Context, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const params = mxedgeParams(kind)
  const tags = [`${kind.noun}s MxEdges`]
  return async (http) => {
    http.get(
      '',
      { schema: { operationId: `get${kind.noun}MxEdge`, tags, params, response: { 200: MxedgeReply } } },
      async ({ caller, params }, reply) => {
        const { scope, id } = await enterMxedge(ctx, kind, { caller, params, needs: 'read' })
        const mxedge = await getMxedge(ctx.db, scope, id)
        return reply.send(presentMxedge(mxedge, await revealsSecrets(ctx, caller, scope)))
      },
    )

    http.put(
      '',
      {
        schema: {
          operationId: `update${kind.noun}MxEdge`,
          tags,
          params,
          body: UpdateMxedgeBody,
          response: { 200: MxedgeReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const { scope, id } = await enterMxedge(ctx, kind, { caller, params, needs: 'write' })
        const mxedge = await updateMxedge(ctx, scope, { id, body })
        return reply.send(presentMxedge(mxedge, await revealsSecrets(ctx, caller, scope)))
      },
    )

    http.delete(
      '',
      { schema: { operationId: `delete${kind.noun}MxEdge`, tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const { scope, id } = await enterMxedge(ctx, kind, { caller, params, needs: 'write' })
        await deleteMxedge(ctx, scope, id)
        return reply.send({})
      },
    )
  }
}
