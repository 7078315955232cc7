import { orgSitesAndSite, site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { notFound } from '../../platform/errors.ts'
import { findDeviceStats, listDeviceStats } from './store.ts'
import { OrgStatsQuery, SiteStatsQuery, StatsReply, parseStats, presentStats } from './wire.ts'

/** The statistics that devices report. Source: contract, Orgs Stats and Sites Stats, Devices. */
export const deviceStatsOperations: Operation[] = [
  listOperation({
    id: { org: 'listOrgDevicesStats', site: 'listSiteDevicesStats' },
    summary: {
      org: 'List the statistics of the devices of an organization',
      site: 'List the statistics of the devices of a site',
    },
    tag: { org: 'Stats', site: 'Stats' },
    at: orgSitesAndSite('/stats/devices', { needs: 'read' }),
    query: { org: OrgStatsQuery, site: SiteStatsQuery },
    item: StatsReply,
    run: async (ctx, { scope, query, page }) => {
      const found = await listDeviceStats(ctx.db, scope, { conditions: parseStats(query), page })
      return presentPage(found, (stats) => presentStats(stats, ctx.clock.now()))
    },
  }),
  operation({
    id: 'getSiteDeviceStats',
    summary: 'Get the statistics of a device',
    method: 'GET',
    tag: 'Stats',
    at: site('/stats/devices/:device_id', { needs: 'read' }),
    params: { device_id: Uuid },
    reply: StatsReply,
    run: async (ctx, { scope, params }) => {
      const stats = await findDeviceStats(ctx.db, scope, params.device_id)
      if (stats === undefined) throw notFound(params.device_id)
      return presentStats(stats, ctx.clock.now())
    },
  }),
].flat()
