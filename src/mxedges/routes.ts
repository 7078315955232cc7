import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type Caller, authorize } from '../access/authorize.ts'
import type { OrgScope } from '../access/scope.ts'
import { type PlaceKind, orgPlaces, placeParams, sitePlaces } from '../http/places.ts'
import { setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import { revealsSecrets } from '../orgs/reveal.ts'
import type { Context } from '../platform/context.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { imageUrl } from '../platform/images/image-url.ts'
import { clusterRoutes } from './clusters/routes.ts'
import { createMxedge } from './create-mxedge.ts'
import { deleteMxedge } from './delete-mxedge.ts'
import { mxedgeEventRoutes } from './events/routes.ts'
import { mxedgeImageRoutes } from './images/routes.ts'
import { findImages } from './images/store.ts'
import type { Mxedge } from './mxedge.ts'
import { enterMxedge, enterPlace, mxedgeParams } from './place.ts'
import { mxedgeSearchRoutes } from './search/routes.ts'
import { mxedgeStatsRoutes } from './stats/routes.ts'
import { agentRoutes } from './routes-agent.ts'
import { mxedgeConstRoutes } from './routes-const.ts'
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
export function mxedgeRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(mxedgeConstRoutes)
    await http.register(clusterRoutes(ctx))
    await http.register(createRoute(ctx))
    await http.register(registrationRoutes(ctx))
    await http.register(mxedgeSearchRoutes(ctx))
    await http.register(agentRoutes(ctx))
    await http.register(mxedgeImageRoutes(ctx, files))
    for (const kind of [orgPlaces, sitePlaces]) {
      await http.register(listRoute(ctx, kind), { prefix: `${kind.prefix}/mxedges` })
      await http.register(mxedgeEventRoutes(ctx, kind), { prefix: `${kind.prefix}/mxedges` })
      await http.register(mxedgeStatsRoutes(ctx, kind), { prefix: `${kind.prefix}/stats/mxedges` })
      await http.register(singleRoutes(ctx, files, kind), { prefix: `${kind.prefix}/mxedges/:mxedge_id` })
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
        return showOne(ctx, { caller, scope }, await createMxedge(ctx, scope, body))
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
        const found = await listMxedges(ctx.db, scope, wanted)
        setPageHeaders(reply, wanted.page, found)
        return reply.send(await show(ctx, { caller, scope }, found.rows))
      },
    )
  }
}

function singleRoutes(ctx: Context, files: ImageFiles, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const params = mxedgeParams(kind)
  const tags = [`${kind.noun}s MxEdges`]
  return async (http) => {
    http.get(
      '',
      { schema: { operationId: `get${kind.noun}MxEdge`, tags, params, response: { 200: MxedgeReply } } },
      async ({ caller, params }, reply) => {
        const { scope, id } = await enterMxedge(ctx, kind, { caller, params, needs: 'read' })
        return reply.send(await showOne(ctx, { caller, scope }, await getMxedge(ctx.db, scope, id)))
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
        return reply.send(await showOne(ctx, { caller, scope }, await updateMxedge(ctx, scope, { id, body })))
      },
    )

    http.delete(
      '',
      { schema: { operationId: `delete${kind.noun}MxEdge`, tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const { scope, id } = await enterMxedge(ctx, kind, { caller, params, needs: 'write' })
        await deleteMxedge(ctx, scope, { files, id })
        return reply.send({})
      },
    )
  }
}

interface Viewer {
  readonly caller: Caller
  readonly scope: OrgScope
}

async function show(ctx: Context, viewer: Viewer, mxedges: readonly Mxedge[]) {
  const present = await presenterOf(ctx, viewer, mxedges)
  return mxedges.map(present)
}

async function showOne(ctx: Context, viewer: Viewer, mxedge: Mxedge) {
  const present = await presenterOf(ctx, viewer, [mxedge])
  return present(mxedge)
}

/** What `mxedges` need besides themselves is read for all of them at once. */
async function presenterOf(ctx: Context, { caller, scope }: Viewer, mxedges: readonly Mxedge[]) {
  const withSecrets = await revealsSecrets(ctx, caller, scope)
  const ids = mxedges.map(({ id }) => id)
  const images = await findImages(ctx.db, scope, ids)
  return (mxedge: Mxedge) => {
    const names = images.get(mxedge.id) ?? new Map<number, string>()
    const imageUrls = new Map(Array.from(names, ([number, name]) => [number, imageUrl(ctx, name)]))
    return presentMxedge(mxedge, { withSecrets, imageUrls })
  }
}
