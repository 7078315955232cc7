import type { ClaimGuesses } from '../../devices/inventory/claim-guesses.ts'
import { org } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, ListErrorReply, Uuid } from '../../http/schemas.ts'
import { assignMxedges, unassignMxedges } from './assign-mxedges.ts'
import { claimMxedge, claimedMxedge } from './claim-mxedge.ts'
import { restartRegistration } from '../registration/restart-registration.ts'
import {
  AssignMxedgesBody,
  AssignMxedgesReply,
  ClaimMxedgeBody,
  ClaimMxedgeReply,
  UnassignMxedgesBody,
  presentAssign,
} from '../wire.ts'

const tag = 'Orgs MxEdges'

/** Two names for one operation. Restarting the agent's process is an action of its service instead. */
const restartOperations: Operation[] = (
  [
    { action: 'restart', summary: 'Restart the registration of an edge appliance' },
    { action: 'unregister', summary: 'Unregister an edge appliance, so that it registers again' },
  ] as const
).flatMap(({ action, summary }) =>
  operation({
    id: `${action}OrgMxEdge`,
    summary,
    method: 'POST',
    tag,
    at: org(`/mxedges/:mxedge_id/${action}`, { needs: 'write' }),
    params: { mxedge_id: Uuid },
    reply: Empty,
    run: (ctx, { scope, params }) => restartRegistration(ctx, scope, params.mxedge_id),
  }),
)

/** Claiming, releasing and registering appliances. Source: contract, Orgs MxEdges; spec, "Edge appliances", 13. */
export function registrationOperations(guesses: ClaimGuesses): Operation[] {
  return [...claimOperation(guesses), ...claimedOperations]
}

const claimOperation = (guesses: ClaimGuesses): Operation[] =>
  operation({
    id: 'claimOrgMxEdge',
    summary: 'Claim an edge appliance by its code',
    method: 'POST',
    tag,
    at: org('/mxedges/claim', { needs: 'write' }),
    body: ClaimMxedgeBody,
    reply: ClaimMxedgeReply,
    run: async (ctx, { scope, caller: { principal }, body }) => {
      const plan = await guesses.limit({ scope, principal }, () => claimMxedge(ctx, scope, body.code))
      const { id, claimCode } = claimedMxedge(plan)
      return { id, magic: claimCode }
    },
  })

const claimedOperations: Operation[] = [
  operation({
    id: 'assignOrgMxEdgeToSite',
    summary: 'Assign edge appliances to a site',
    method: 'POST',
    tag,
    at: org('/mxedges/assign', { needs: 'write' }),
    body: AssignMxedgesBody,
    reply: AssignMxedgesReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope, body }) =>
      presentAssign(await assignMxedges(ctx, scope, { ids: body.mxedge_ids, siteId: body.site_id })),
  }),
  operation({
    id: 'unassignOrgMxEdgeFromSite',
    summary: 'Unassign edge appliances from their sites',
    method: 'POST',
    tag,
    at: org('/mxedges/unassign', { needs: 'write' }),
    body: UnassignMxedgesBody,
    reply: AssignMxedgesReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope, body }) => presentAssign(await unassignMxedges(ctx, scope, body.mxedge_ids)),
  }),
  ...restartOperations,
].flat()
