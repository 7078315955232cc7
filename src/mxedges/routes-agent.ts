import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../access/authorize.ts'
import { type PlaceKind, type PlaceRequest, orgPlaces, sitePlaces } from '../http/places.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { AppError } from '../platform/errors.ts'
import { enterMxedge, mxedgeParams } from './place.ts'
import { getMxedge } from './store.ts'
import {
  BouncePortBody,
  DisconnectApsBody,
  ServiceParams,
  VersionsQuery,
  VersionsReply,
  VmParamsReply,
  presentVmParams,
} from './wire-agent.ts'

const tags = ['Orgs MxEdges']
const single = '/orgs/:org_id/mxedges/:mxedge_id'

/** What the agent of an appliance does or needs. Source: contract, Orgs MxEdges and Sites MxEdges. */
export function agentRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(commandRoutes(ctx))
    for (const kind of [orgPlaces, sitePlaces]) await http.register(supportRoute(ctx, kind))

    // Older clients ask at the first path, newer ones at the second.
    for (const [path, operationId] of [
      ['version', 'getOrgMxEdgeUpgradeInfo'],
      ['versions', 'listOrgMxEdgeVersions'],
    ] as const)
      http.get(
        `/orgs/:org_id/mxedges/${path}`,
        {
          schema: {
            operationId,
            tags,
            params: OrgParams,
            querystring: VersionsQuery,
            response: { 200: VersionsReply },
          },
        },
        async ({ caller, params }) => {
          authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
          // There is no package yet that an appliance could be upgraded to.
          return []
        },
      )

    http.get(
      `${single}/vm_params`,
      {
        schema: {
          operationId: 'getOrgMxEdgeVmParams',
          tags,
          params: mxedgeParams(orgPlaces),
          response: { 200: VmParamsReply },
        },
      },
      async ({ caller, params }, reply) => {
        const { scope, id } = await enterMxedge(ctx, orgPlaces, { caller, params, needs: 'read' })
        const shown = presentVmParams(await getMxedge(ctx.db, scope, id))
        if (shown === null) throw new AppError('invalid', 'the edge appliance is no virtual machine')
        return reply.send(shown)
      },
    )
  }
}

function commandRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      `${single}/services/tunterm/bounce_port`,
      {
        schema: {
          operationId: 'bounceOrgMxEdgeDataPorts',
          tags,
          params: mxedgeParams(orgPlaces),
          body: BouncePortBody,
          response: { 200: Empty },
        },
      },
      ({ caller, params }) => command(ctx, orgPlaces, { caller, params, needs: 'operate' }),
    )

    http.post(
      `${single}/services/tunterm/disconnect_aps`,
      {
        schema: {
          operationId: 'disconnectOrgMxEdgeTuntermAps',
          tags,
          params: mxedgeParams(orgPlaces),
          body: DisconnectApsBody,
          response: { 200: Empty },
        },
      },
      ({ caller, params }) => command(ctx, orgPlaces, { caller, params, needs: 'operate' }),
    )

    http.post(
      `${single}/services/:name/:action`,
      {
        schema: { operationId: 'controlOrgMxEdgeServices', tags, params: ServiceParams, response: { 200: Empty } },
      },
      ({ caller, params }) => command(ctx, orgPlaces, { caller, params, needs: 'operate' }),
    )
  }
}

function supportRoute(ctx: Context, kind: PlaceKind): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      `${kind.prefix}/mxedges/:mxedge_id/support`,
      {
        schema: {
          operationId: `upload${kind.noun}MxEdgeSupportFiles`,
          tags: [`${kind.noun}s MxEdges`],
          params: mxedgeParams(kind),
          response: { 200: Empty },
        },
      },
      ({ caller, params }) => command(ctx, kind, { caller, params, needs: 'operate' }),
    )
  }
}

/** @throws AppError not_found; invalid where the appliance is not connected, as every one is without an agent. */
async function command(ctx: Context, kind: PlaceKind, request: PlaceRequest): Promise<never> {
  const { scope, id } = await enterMxedge(ctx, kind, request)
  await getMxedge(ctx.db, scope, id)
  throw new AppError('invalid', 'the edge appliance is not connected')
}
