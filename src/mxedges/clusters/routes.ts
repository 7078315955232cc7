import { org, orgSites } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { revealTo } from '../../orgs/secrets/reveal.ts'
import { createCluster } from './create-cluster.ts'
import { deleteCluster } from './delete-cluster.ts'
import { getCluster, listClusters } from './store.ts'
import { updateCluster } from './update-cluster.ts'
import { ClusterBody, ClusterReply, presentCluster } from './wire.ts'

const tag = 'Orgs MxClusters'
const single = '/mxclusters/:mxcluster_id'
const params = { mxcluster_id: Uuid }

/** Clusters of edge appliances. Source: contract, Orgs MxClusters. */
export const clusterOperations: Operation[] = [
  listOperation({
    id: 'listOrgMxEdgeClusters',
    summary: 'List the edge clusters of an organization',
    tag,
    at: orgSites('/mxclusters', { needs: 'read' }),
    item: ClusterReply,
    run: async (ctx, { scope, caller, page }) => {
      const found = await listClusters(ctx.db, scope, page)
      const reveal = await revealTo(ctx, caller, scope)
      return presentPage(found, (cluster) => presentCluster(cluster, reveal))
    },
  }),
  operation({
    id: 'createOrgMxEdgeCluster',
    summary: 'Create an edge cluster',
    method: 'POST',
    tag,
    at: org('/mxclusters', { needs: 'write' }),
    body: ClusterBody,
    reply: ClusterReply,
    run: async (ctx, { scope, caller, body }) =>
      presentCluster(await createCluster(ctx, scope, body), await revealTo(ctx, caller, scope, body)),
  }),
  operation({
    id: 'getOrgMxEdgeCluster',
    summary: 'Get an edge cluster',
    method: 'GET',
    tag,
    at: orgSites(single, { needs: 'read' }),
    params,
    reply: ClusterReply,
    run: async (ctx, { scope, caller, params }) => {
      const cluster = await getCluster(ctx.db, scope, params.mxcluster_id)
      return presentCluster(cluster, await revealTo(ctx, caller, scope))
    },
  }),
  operation({
    id: 'updateOrgMxEdgeCluster',
    summary: 'Update an edge cluster',
    method: 'PUT',
    tag,
    at: org(single, { needs: 'write' }),
    params,
    body: ClusterBody,
    reply: ClusterReply,
    run: async (ctx, { scope, caller, params, body }) => {
      const cluster = await updateCluster(ctx, scope, { id: params.mxcluster_id, body })
      return presentCluster(cluster, await revealTo(ctx, caller, scope, body))
    },
  }),
  operation({
    id: 'deleteOrgMxEdgeCluster',
    summary: 'Delete an edge cluster',
    method: 'DELETE',
    tag,
    at: org(single, { needs: 'write' }),
    params,
    reply: Empty,
    run: (ctx, { scope, params }) => deleteCluster(ctx, scope, params.mxcluster_id),
  }),
].flat()
