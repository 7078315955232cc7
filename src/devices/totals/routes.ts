import { readScopeOf } from '../../access/scope.ts'
import { org, orgSites, site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { getSite, listSites } from '../../orgs/sites/store.ts'
import { getOrg } from '../../orgs/store.ts'
import { presentOrg, presentSiteAt } from '../../orgs/wire.ts'
import { countBySite, countInOrg } from './store.ts'
import { OrgStatsReply, SiteStatsReply, presentOrgStats, presentSiteStats } from './wire.ts'

/** Numbers of devices and clients of organizations and sites; see decision 705. */
export const totalsOperations: Operation[] = [
  operation({
    id: 'getOrgStats',
    summary: 'Get the numbers of sites and devices of an organization',
    method: 'GET',
    tag: 'Stats',
    at: org('/stats', { needs: 'read' }),
    reply: OrgStatsReply,
    run: async (ctx, { scope }) =>
      presentOrgStats(presentOrg(await getOrg(ctx.db, scope)), await countInOrg(ctx.db, scope)),
  }),
  listOperation({
    id: 'listOrgSiteStats',
    summary: 'List the numbers of devices and clients of the sites of an organization',
    tag: 'Stats',
    at: orgSites('/stats/sites', { needs: 'read' }),
    item: SiteStatsReply,
    run: async (ctx, { scope, page }) => {
      const found = await listSites(ctx.db, readScopeOf(scope), page)
      const totals = await countBySite(
        ctx.db,
        scope,
        found.rows.map(({ id }) => id),
      )
      const present = presentSiteAt(ctx.clock.now())
      return presentPage(found, (one) => presentSiteStats(present(one), totals.get(one.id)))
    },
  }),
  operation({
    id: 'getSiteStats',
    summary: 'Get the numbers of devices and clients of a site',
    method: 'GET',
    tag: 'Stats',
    at: site('/stats', { needs: 'read' }),
    reply: SiteStatsReply,
    run: async (ctx, { scope }) => {
      const found = await getSite(ctx.db, scope)
      const totals = await countBySite(ctx.db, scope, [scope.siteId])
      return presentSiteStats(presentSiteAt(ctx.clock.now())(found), totals.get(scope.siteId))
    },
  }),
].flat()
