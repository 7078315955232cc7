import type { SitesScope } from '../access/scope.ts'
import { org, orgSites } from '../http/at.ts'
import { listPackages } from '../firmware/packages/store.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { AppError } from '../platform/errors.ts'
import type { AgentGateway } from '../devices/routers/certificates.ts'
import { revealsSecrets } from '../orgs/secrets/reveal.ts'
import { queueMxedgeCommand } from './commands/queue-command.ts'
import { listMxedgeCommands } from './commands/store.ts'
import { getMxedge } from './store.ts'
import {
  BouncePortBody,
  DisconnectApsBody,
  MxedgeCommandReply,
  VersionsQuery,
  VersionsReply,
  VmParamsReply,
  parseBouncePort,
  parseDisconnectAps,
  presentMxedgeCommand,
  presentVersions,
  presentVmParams,
  serviceParams,
} from './wire-agent.ts'

const tag = 'Orgs MxEdges'
const single = '/mxedges/:mxedge_id'
const params = { mxedge_id: Uuid }

const commandOperations: Operation[] = [
  operation({
    id: 'bounceOrgMxEdgeDataPorts',
    summary: 'Take data ports of an edge appliance down and up again',
    method: 'POST',
    tag,
    at: org(`${single}/services/tunterm/bounce_port`, { needs: 'operate' }),
    params,
    body: BouncePortBody,
    reply: Empty,
    run: (ctx, { scope, params, body }) => queue(ctx, scope, { id: params.mxedge_id, order: parseBouncePort(body) }),
  }),
  operation({
    id: 'disconnectOrgMxEdgeTuntermAps',
    summary: 'Disconnect access points from an edge appliance',
    method: 'POST',
    tag,
    at: org(`${single}/services/tunterm/disconnect_aps`, { needs: 'operate' }),
    params,
    body: DisconnectApsBody,
    reply: Empty,
    run: (ctx, { scope, params, body }) => queue(ctx, scope, { id: params.mxedge_id, order: parseDisconnectAps(body) }),
  }),
  operation({
    id: 'controlOrgMxEdgeServices',
    summary: 'Start, stop or restart a service of an edge appliance',
    method: 'POST',
    tag,
    at: org(`${single}/services/:name/:action`, { needs: 'operate' }),
    params: serviceParams,
    reply: Empty,
    run: (ctx, { scope, params: { mxedge_id: id, name: service, action } }) =>
      queue(ctx, scope, { id, order: { kind: 'service', params: { service, action } } }),
  }),
].flat()

async function queue(ctx: Context, scope: SitesScope, command: Parameters<typeof queueMxedgeCommand>[2]) {
  await queueMxedgeCommand(ctx, scope, command)
}

/** Older clients use the first path, newer ones the second. */
const versionOperations: Operation[] = [
  {
    path: '/mxedges/version',
    id: 'getOrgMxEdgeUpgradeInfo',
    summary: 'List the versions that edge appliances can get by the older path',
  },
  {
    path: '/mxedges/versions',
    id: 'listOrgMxEdgeVersions',
    summary: 'List the versions that edge appliances can get',
  },
].flatMap(({ path, id, summary }) =>
  operation({
    id,
    summary,
    method: 'GET',
    tag,
    at: orgSites(path, { needs: 'read' }),
    query: VersionsQuery,
    reply: VersionsReply,
    run: async (ctx, { scope, query }) => presentVersions(await listPackages(ctx.db, scope), query),
  }),
)

/** Operations that need the agent of an appliance. Source: contract, Orgs MxEdges and Sites MxEdges. */
export function agentOperations(agents: AgentGateway): Operation[] {
  return [
    ...commandOperations,
    listOperation({
      id: 'listOrgMxEdgeCommands',
      summary: 'List the commands to an edge appliance, the newest first',
      tag,
      at: orgSites(`${single}/commands`, { needs: 'read' }),
      params,
      item: MxedgeCommandReply,
      run: async (ctx, { scope, params: { mxedge_id: mxedgeId }, page }) => {
        await getMxedge(ctx.db, scope, mxedgeId)
        return presentPage(await listMxedgeCommands(ctx.db, scope, { mxedgeId, page }), presentMxedgeCommand)
      },
    }),
    ...versionOperations,
    operation({
      id: 'getOrgMxEdgeVmParams',
      summary: 'Get the set-up data of a virtual edge appliance',
      method: 'GET',
      tag,
      at: orgSites(`${single}/vm_params`, { needs: 'read' }),
      params,
      reply: VmParamsReply,
      run: async (ctx, { scope, caller, params }) => {
        const mxedge = await getMxedge(ctx.db, scope, params.mxedge_id)
        const isShown = await revealsSecrets(ctx, caller, scope)
        const presented = presentVmParams(mxedge, isShown ? { url: ctx.baseUrl, ca: agents.httpCa } : null)
        if (presented === null) throw new AppError('invalid', 'The edge appliance is not a virtual machine')
        return presented
      },
    }),
  ].flat()
}
