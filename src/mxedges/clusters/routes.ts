import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty, OrgParams } from '../../http/schemas.ts'
import { revealsSecrets } from '../../orgs/reveal.ts'
import type { Context } from '../../platform/context.ts'
import { createCluster } from './create-cluster.ts'
import { deleteCluster } from './delete-cluster.ts'
import { getCluster, listClusters } from './store.ts'
import { updateCluster } from './update-cluster.ts'
import { ClusterBody, ClusterParams, ClusterReply, presentCluster } from './wire.ts'

const tags = ['Orgs MxClusters']
const collection = '/orgs/:org_id/mxclusters'
const single = `${collection}/:mxcluster_id`

/** Clusters of edge appliances. Source: contract, Orgs MxClusters. */
export function clusterRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      collection,
      {
        schema: {
          operationId: 'listOrgMxEdgeClusters',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(ClusterReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const page = parsePage(query)
        const found = await listClusters(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        const withSecrets = await revealsSecrets(ctx, caller, scope)
        return found.rows.map((cluster) => presentCluster(cluster, withSecrets))
      },
    )

    http.post(
      collection,
      {
        schema: {
          operationId: 'createOrgMxEdgeCluster',
          tags,
          params: OrgParams,
          body: ClusterBody,
          response: { 200: ClusterReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentCluster(await createCluster(ctx, scope, body), await revealsSecrets(ctx, caller, scope))
      },
    )

    http.get(
      single,
      { schema: { operationId: 'getOrgMxEdgeCluster', tags, params: ClusterParams, response: { 200: ClusterReply } } },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const cluster = await getCluster(ctx.db, scope, params.mxcluster_id)
        return presentCluster(cluster, await revealsSecrets(ctx, caller, scope))
      },
    )

    http.put(
      single,
      {
        schema: {
          operationId: 'updateOrgMxEdgeCluster',
          tags,
          params: ClusterParams,
          body: ClusterBody,
          response: { 200: ClusterReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        const cluster = await updateCluster(ctx, scope, { id: params.mxcluster_id, body })
        return presentCluster(cluster, await revealsSecrets(ctx, caller, scope))
      },
    )

    http.delete(
      single,
      { schema: { operationId: 'deleteOrgMxEdgeCluster', tags, params: ClusterParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        await deleteCluster(ctx, scope, params.mxcluster_id)
        return {}
      },
    )
  }
}
