import { orgAndSite } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { getOverview, listOverviews } from './store.ts'
import { OverviewQuery, UpgradeOverviewReply, presentOverview } from './wire.ts'

const tag = 'Upgrades'
const all = '/upgrades'

/** Upgrades of all kinds in one list. Ours: the interface has a list for each kind. */
export const upgradeOverviewOperations: Operation[] = [
  listOperation({
    id: { org: 'listOrgUpgrades', site: 'listSiteUpgrades' },
    summary: {
      org: 'List the upgrades of devices, SSR routers and edge appliances',
      site: 'List the upgrades of devices, SSR routers and edge appliances of a site',
    },
    tag: { org: tag, site: tag },
    at: orgAndSite(all, { needs: 'read' }),
    query: OverviewQuery,
    item: UpgradeOverviewReply,
    run: async (ctx, { scope, query: { kind = null, held = false }, page }) =>
      presentPage(
        await listOverviews(ctx.db, scope, { kind, isHeld: held, page, at: ctx.clock.now() }),
        presentOverview,
      ),
  }),
  operation({
    id: { org: 'getOrgUpgrade', site: 'getSiteUpgrade' },
    summary: {
      org: 'Get the kind and the progress of an upgrade of any kind',
      site: 'Get the kind and the progress of an upgrade of any kind at a site',
    },
    method: 'GET',
    tag: { org: tag, site: tag },
    at: orgAndSite(`${all}/:upgrade_id`, { needs: 'read' }),
    params: { upgrade_id: Uuid },
    reply: UpgradeOverviewReply,
    run: async (ctx, { scope, params: { upgrade_id: id } }) =>
      presentOverview(await getOverview(ctx.db, scope, { id, at: ctx.clock.now() })),
  }),
].flat()
