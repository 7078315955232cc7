import { orgSites, orgSitesAndSite, site } from '../../http/at.ts'
import { listOperation } from '../../http/list-operation.ts'
import { presentPage } from '../../http/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { getMxedge, listMxedges } from '../store.ts'
import { parseForSite } from '../wire.ts'
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
      presentPage(await listMxedges(ctx.db, scope, { forSite: parseForSite(query.for_site), page }), presentStats),
  }),
  listOperation({
    id: 'listSiteMxEdgesStats',
    summary: 'List the statistics of the edge appliances of a site',
    tag: tag.site,
    at: site('/stats/mxedges', { needs: 'read' }),
    item: StatsReply,
    run: async (ctx, { scope, page }) =>
      presentPage(await listMxedges(ctx.db, scope, { forSite: null, page }), presentStats),
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
    run: async (ctx, { scope, params }) => presentStats(await getMxedge(ctx.db, scope, params.mxedge_id)),
  }),
].flat()
