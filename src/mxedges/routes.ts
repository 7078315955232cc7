import type { Caller } from '../access/authorize.ts'
import type { InOrg } from '../access/scope.ts'
import type { ClaimGuesses } from '../devices/inventory/claim-guesses.ts'
import type { AgentGateway } from '../devices/routers/certificates.ts'
import type { SupportFiles } from '../devices/support/support-files.ts'
import { org, orgAndSite, orgSites, orgSitesAndSite, site } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { revealTo } from '../orgs/secrets/reveal.ts'
import type { Reveal } from '../orgs/secrets/secrets.ts'
import type { Context } from '../platform/context.ts'
import type { Document } from '../platform/json/document.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { imageUrl } from '../platform/images/image-url.ts'
import { clusterOperations } from './clusters/routes.ts'
import { createMxedge } from './create-mxedge.ts'
import { deleteMxedge } from './delete-mxedge.ts'
import { mxedgeEventOperations } from './events/routes.ts'
import { mxedgeImageOperations } from './images/routes.ts'
import { findImages } from './images/store.ts'
import { inventoryChangeOperations } from './inventory/routes.ts'
import type { Mxedge } from './mxedge.ts'
import { sessionsOf } from './sessions/sessions-of.ts'
import { agentOperations } from './routes-agent.ts'
import { mxedgeConstOperations } from './routes-const.ts'
import { registrationOperations } from './inventory/routes-registration.ts'
import { summaryOperations } from './routes-summary.ts'
import { mxedgeSearchOperations } from './search/routes.ts'
import { mxedgeStatsOperations } from './stats/routes.ts'
import { getMxedge, listMxedges } from './store.ts'
import { mxedgeSupportOperations } from './support/routes.ts'
import { updateMxedge } from './update-mxedge.ts'
import { CreateMxedgeBody, MxedgeReply, MxedgesQuery, UpdateMxedgeBody, parseForSite, presentMxedge } from './wire.ts'

export interface MxedgeParts {
  readonly agents: AgentGateway
  readonly files: ImageFiles
  readonly supportFiles: SupportFiles
  readonly guesses: ClaimGuesses
}

/** Edge appliances and their parts. Source: contract, Orgs MxEdges, Sites MxEdges, Orgs MxClusters. */
export function mxedgeOperations({ agents, files, supportFiles, guesses }: MxedgeParts): Operation[] {
  return [
    ...collectionOperations,
    ...singleOperations(files),
    ...agentOperations(agents),
    ...clusterOperations,
    ...inventoryChangeOperations(files, guesses),
    ...mxedgeConstOperations,
    ...mxedgeEventOperations,
    ...mxedgeImageOperations(files),
    ...mxedgeSearchOperations,
    ...mxedgeStatsOperations,
    ...mxedgeSupportOperations(supportFiles),
    ...registrationOperations(guesses),
    ...summaryOperations,
  ]
}

const collectionOperations: Operation[] = [
  operation({
    id: 'createOrgMxEdge',
    summary: 'Create an edge appliance',
    method: 'POST',
    tag: 'Orgs MxEdges',
    at: org('/mxedges', { needs: 'write' }),
    body: CreateMxedgeBody,
    reply: MxedgeReply,
    run: async (ctx, { scope, caller, body }) =>
      presentOne(ctx, { caller, scope, written: body }, await createMxedge(ctx, scope, body)),
  }),
  listOperation({
    id: 'listOrgMxEdges',
    summary: 'List the edge appliances of an organization',
    tag: 'Orgs MxEdges',
    at: orgSites('/mxedges', { needs: 'read' }),
    query: MxedgesQuery,
    item: MxedgeReply,
    run: async (ctx, { scope, caller, query, page }) => {
      const found = await listMxedges(ctx.db, scope, { forSite: parseForSite(query.for_site), page })
      return presentPage(found, await presenterOf(ctx, { caller, scope }, found.rows))
    },
  }),
  listOperation({
    id: 'listSiteMxEdges',
    summary: 'List the edge appliances of a site',
    tag: 'Sites MxEdges',
    at: site('/mxedges', { needs: 'read' }),
    item: MxedgeReply,
    run: async (ctx, { scope, caller, page }) => {
      const found = await listMxedges(ctx.db, scope, { forSite: null, page })
      return presentPage(found, await presenterOf(ctx, { caller, scope }, found.rows))
    },
  }),
].flat()

function singleOperations(files: ImageFiles): Operation[] {
  const tag = { org: 'Orgs MxEdges', site: 'Sites MxEdges' } as const
  const single = '/mxedges/:mxedge_id'
  const params = { mxedge_id: Uuid }
  return [
    operation({
      id: { org: 'getOrgMxEdge', site: 'getSiteMxEdge' },
      summary: {
        org: 'Get an edge appliance of an organization',
        site: 'Get an edge appliance of a site',
      },
      method: 'GET',
      tag,
      at: orgSitesAndSite(single, { needs: 'read' }),
      params,
      reply: MxedgeReply,
      run: async (ctx, { scope, caller, params: { mxedge_id: id } }) =>
        presentOne(ctx, { caller, scope }, await getMxedge(ctx.db, scope, id)),
    }),
    operation({
      id: { org: 'updateOrgMxEdge', site: 'updateSiteMxEdge' },
      summary: {
        org: 'Update an edge appliance of an organization',
        site: 'Update an edge appliance of a site',
      },
      method: 'PUT',
      tag,
      at: orgAndSite(single, { needs: 'write' }),
      params,
      body: UpdateMxedgeBody,
      reply: MxedgeReply,
      run: async (ctx, { scope, caller, params: { mxedge_id: id }, body }) =>
        presentOne(ctx, { caller, scope, written: body }, await updateMxedge(ctx, scope, { id, body })),
    }),
    operation({
      id: { org: 'deleteOrgMxEdge', site: 'deleteSiteMxEdge' },
      summary: {
        org: 'Delete an edge appliance of an organization',
        site: 'Delete an edge appliance of a site',
      },
      method: 'DELETE',
      tag,
      at: orgAndSite(single, { needs: 'write' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params: { mxedge_id: id } }) => deleteMxedge(ctx, scope, { files, id }),
    }),
  ].flat()
}

interface Viewer {
  readonly caller: Caller
  readonly scope: InOrg
  /** The request's body, where it is a write. */
  readonly written?: Document
}

async function presentOne(ctx: Context, viewer: Viewer, mxedge: Mxedge) {
  const present = await presenterOf(ctx, viewer, [mxedge])
  return present(mxedge)
}

async function presenterOf(ctx: Context, { caller, scope, written }: Viewer, mxedges: readonly Mxedge[]) {
  return presenterRevealing(ctx, { reveal: await revealTo(ctx, caller, scope, written), scope }, mxedges)
}

/** Reads, in one pass, the data that the presentation of all `mxedges` needs besides their rows. */
export async function presenterRevealing(
  ctx: Context,
  { reveal, scope }: { readonly reveal: Reveal; readonly scope: InOrg },
  mxedges: readonly Mxedge[],
) {
  const ids = mxedges.map(({ id }) => id)
  const images = await findImages(ctx.db, scope, ids)
  const sessionOf = await sessionsOf(ctx, scope, mxedges)
  return (mxedge: Mxedge) => {
    const names = images.get(mxedge.id) ?? new Map<number, string>()
    const imageUrls = new Map(Array.from(names, ([number, name]) => [number, imageUrl(ctx, name)]))
    return presentMxedge(mxedge, { reveal, imageUrls, session: sessionOf(mxedge) })
  }
}
