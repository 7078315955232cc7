import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize, authorizeSite } from '../../access/authorize.ts'
import { parsePage, setPageHeaders } from '../../http/lists.ts'
import { OrgParams, SiteParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import { findDeviceStats, listDeviceStats } from './store.ts'
import { DeviceParams } from '../wire.ts'
import { OrgStatsQuery, SiteStatsQuery, StatsReply, parseStats, presentStats } from './wire.ts'

const tags = ['Stats']
const list = { 200: Type.Array(StatsReply) }

/** What devices say of themselves. Source: contract, Orgs Stats and Sites Stats, Devices. */
export function deviceStatsRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/stats/devices',
      {
        schema: {
          operationId: 'listOrgDevicesStats',
          tags,
          params: OrgParams,
          querystring: OrgStatsQuery,
          response: list,
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const page = parsePage(query)
        const found = await listDeviceStats(ctx.db, scope, { filter: parseStats(query), page })
        setPageHeaders(reply, page, found)
        return found.rows.map((stats) => presentStats(stats, ctx.clock.now()))
      },
    )

    http.get(
      '/sites/:site_id/stats/devices',
      {
        schema: {
          operationId: 'listSiteDevicesStats',
          tags,
          params: SiteParams,
          querystring: SiteStatsQuery,
          response: list,
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const page = parsePage(query)
        const filter = parseStats({ ...query, site_id: params.site_id })
        const found = await listDeviceStats(ctx.db, scope, { filter, page })
        setPageHeaders(reply, page, found)
        return found.rows.map((stats) => presentStats(stats, ctx.clock.now()))
      },
    )

    http.get(
      '/sites/:site_id/stats/devices/:device_id',
      { schema: { operationId: 'getSiteDeviceStats', tags, params: DeviceParams, response: { 200: StatsReply } } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const stats = await findDeviceStats(ctx.db, scope, params.device_id)
        if (stats === undefined) throw notFound(params.device_id)
        return presentStats(stats, ctx.clock.now())
      },
    )
  }
}
