import { orgSites, orgSitesAndSite, site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { type Paged, presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import type { InOrg } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import type { Mxedge } from '../mxedge.ts'
import { sessionsOf } from '../sessions/sessions-of.ts'
import { getMxedge, listMxedges } from '../store.ts'
import { parseForSite } from '../wire.ts'
import { listFwUpdates } from './store.ts'
import { StatsQuery, StatsReply, presentStats } from './wire.ts'

const tag = { org: 'Orgs Stats - MxEdges', site: 'Sites Stats - MxEdges' } as const

/** Statistics of edge appliances. Source: contract, Orgs Stats and Sites Stats, MxEdges. */
export const mxedgeStatsOperations: Operation[] = [
  listOperation({
    id: 'listOrgMxEdgesStats',
    summary: 'List the statistics of the edge appliances of an organization',
    tag: tag.org,
    at: orgSites('/stats/mxedges', { needs: 'read' }),
    query: StatsQuery,
    item: StatsReply,
    run: async (ctx, { scope, query, page }) =>
      presentMany(ctx, scope, await listMxedges(ctx.db, scope, { forSite: parseForSite(query.for_site), page })),
  }),
  listOperation({
    id: 'listSiteMxEdgesStats',
    summary: 'List the statistics of the edge appliances of a site',
    tag: tag.site,
    at: site('/stats/mxedges', { needs: 'read' }),
    item: StatsReply,
    run: async (ctx, { scope, page }) =>
      presentMany(ctx, scope, await listMxedges(ctx.db, scope, { forSite: null, page })),
  }),
  operation({
    id: { org: 'getOrgMxEdgeStats', site: 'getSiteMxEdgeStats' },
    summary: {
      org: 'Get the statistics of an edge appliance of an organization',
      site: 'Get the statistics of an edge appliance of a site',
    },
    method: 'GET',
    tag,
    at: orgSitesAndSite('/stats/mxedges/:mxedge_id', { needs: 'read' }),
    params: { mxedge_id: Uuid },
    reply: StatsReply,
    run: async (ctx, { scope, params }) => {
      const mxedge = await getMxedge(ctx.db, scope, params.mxedge_id)
      return (await statsPresenterOf(ctx, scope, [mxedge]))(mxedge)
    },
  }),
].flat()

/** Presents a page of appliances with the sessions and upgrades of all of them. */
export async function presentMany(ctx: Context, scope: InOrg, page: Paged<Mxedge>) {
  return presentPage(page, await statsPresenterOf(ctx, scope, page.rows))
}

/** Reads, in one pass, the data that the presentation of all `mxedges` needs besides their rows. */
export async function statsPresenterOf(ctx: Context, scope: InOrg, mxedges: readonly Mxedge[]) {
  const sessionOf = await sessionsOf(ctx, scope, mxedges)
  const ids = mxedges.map(({ id }) => id)
  const fwUpdates = await listFwUpdates(ctx.db, scope, ids)
  const now = ctx.clock.now()
  return (mxedge: Mxedge) =>
    presentStats(mxedge, { session: sessionOf(mxedge), fwUpdate: fwUpdates.get(mxedge.id), now })
}
