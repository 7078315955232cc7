import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../access/authorize.ts'
import { orgPlaces } from '../http/places.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { assignMxedges, unassignMxedges } from './assign-mxedges.ts'
import { claimMxedge } from './claim-mxedge.ts'
import { enterMxedge, mxedgeParams } from './place.ts'
import { restartRegistration } from './restart-registration.ts'
import {
  AssignMxedgesBody,
  AssignMxedgesReply,
  ClaimMxedgeBody,
  ClaimMxedgeReply,
  UnassignMxedgesBody,
  presentAssign,
} from './wire.ts'

const tags = ['Orgs MxEdges']

/** Who has an appliance, and which appliance it is. Source: contract, Orgs MxEdges; spec, "Edge appliances", 13. */
export function registrationRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/orgs/:org_id/mxedges/claim',
      {
        schema: {
          operationId: 'claimOrgMxEdge',
          tags,
          params: OrgParams,
          body: ClaimMxedgeBody,
          response: { 200: ClaimMxedgeReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        const { id, registrationCode } = await claimMxedge(ctx, scope, body.code)
        return { id, magic: registrationCode }
      },
    )

    http.post(
      '/orgs/:org_id/mxedges/assign',
      {
        schema: {
          operationId: 'assignOrgMxEdgeToSite',
          tags,
          params: OrgParams,
          body: AssignMxedgesBody,
          response: { 200: AssignMxedgesReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentAssign(await assignMxedges(ctx, scope, { ids: body.mxedge_ids, siteId: body.site_id }))
      },
    )

    http.post(
      '/orgs/:org_id/mxedges/unassign',
      {
        schema: {
          operationId: 'unassignOrgMxEdgeFromSite',
          tags,
          params: OrgParams,
          body: UnassignMxedgesBody,
          response: { 200: AssignMxedgesReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentAssign(await unassignMxedges(ctx, scope, body.mxedge_ids))
      },
    )

    // Two names for one thing; a restart of the agent's process is one of its services.
    for (const action of ['restart', 'unregister'] as const)
      http.post(
        `/orgs/:org_id/mxedges/:mxedge_id/${action}`,
        {
          schema: {
            operationId: `${action}OrgMxEdge`,
            tags,
            params: mxedgeParams(orgPlaces),
            response: { 200: Empty },
          },
        },
        async ({ caller, params }, reply) => {
          const { scope, id } = await enterMxedge(ctx, orgPlaces, { caller, params, needs: 'write' })
          await restartRegistration(ctx, scope, id)
          return reply.send({})
        },
      )
  }
}
