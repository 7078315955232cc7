import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize, authorizeSite } from '../../access/authorize.ts'
import { OrgParams, SiteParams } from '../../http/schemas.ts'
import { CountReply, presentCounts, presentSearch } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { countMxedges, countTypes } from '../store-lists.ts'
import { countDevices, searchDevices } from './store.ts'
import {
  DevicesSearchReply,
  DevicesSummaryReply,
  OrgDevicesCount,
  OrgDevicesSearch,
  SiteDevicesCount,
  SiteDevicesSearch,
  parseCount,
  parseSearch,
  presentHit,
  presentSummary,
} from './wire.ts'

/** Devices by what they are and say of themselves. Source: contract, Orgs Devices and Sites Devices. */
export function deviceSearchRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/devices/search',
      {
        schema: {
          operationId: 'searchOrgDevices',
          tags: ['Orgs Devices'],
          params: OrgParams,
          querystring: OrgDevicesSearch,
          response: { 200: DevicesSearchReply },
        },
      },
      async ({ caller, params, query, url }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const now = ctx.clock.now()
        const search = parseSearch(query, now)
        const found = await searchDevices(ctx.db, scope, { ...search, page: search })
        return presentSearch(found, (hit) => presentHit(hit, now), { search, url })
      },
    )

    http.get(
      '/sites/:site_id/devices/search',
      {
        schema: {
          operationId: 'searchSiteDevices',
          tags: ['Sites Devices'],
          params: SiteParams,
          querystring: SiteDevicesSearch,
          response: { 200: DevicesSearchReply },
        },
      },
      async ({ caller, params, query, url }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const now = ctx.clock.now()
        const search = parseSearch({ ...query, site_id: params.site_id }, now)
        const found = await searchDevices(ctx.db, scope, { ...search, page: search })
        return presentSearch(found, (hit) => presentHit(hit, now), { search, url })
      },
    )

    http.get(
      '/orgs/:org_id/devices/count',
      {
        schema: {
          operationId: 'countOrgDevices',
          tags: ['Orgs Devices'],
          params: OrgParams,
          querystring: OrgDevicesCount,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const count = parseCount(query, ctx.clock.now())
        return presentCounts(await countDevices(ctx.db, scope, count), count)
      },
    )

    http.get(
      '/sites/:site_id/devices/count',
      {
        schema: {
          operationId: 'countSiteDevices',
          tags: ['Sites Devices'],
          params: SiteParams,
          querystring: SiteDevicesCount,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const type = query.type ?? 'all'
        const count = parseCount({ ...query, type, site_id: params.site_id }, ctx.clock.now())
        return presentCounts(await countDevices(ctx.db, scope, count), count)
      },
    )

    http.get(
      '/orgs/:org_id/devices/summary',
      {
        schema: {
          operationId: 'listOrgDevicesSummary',
          tags: ['Orgs Devices'],
          params: OrgParams,
          response: { 200: DevicesSummaryReply },
        },
      },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        return presentSummary(await countTypes(ctx.db, scope), await countMxedges(ctx.db, scope))
      },
    )
  }
}
