import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize, authorizeSite } from '../../access/authorize.ts'
import { OrgParams, SiteParams } from '../../http/schemas.ts'
import { CountReply, presentCounts, presentSearch } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { countEvents, searchEvents } from './store.ts'
import {
  EventsReply,
  OrgEventsCount,
  OrgEventsSearch,
  SiteEventsCount,
  SiteEventsSearch,
  parseEventCount,
  parseEventSearch,
  presentEvent,
} from './wire.ts'

/** What happened to devices. Source: contract, Orgs Devices and Sites Devices. */
export function deviceEventRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/devices/events/search',
      {
        schema: {
          operationId: 'searchOrgDeviceEvents',
          tags: ['Orgs Devices'],
          params: OrgParams,
          querystring: OrgEventsSearch,
          response: { 200: EventsReply },
        },
      },
      async ({ caller, params, query, url }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const search = parseEventSearch(query, ctx.clock.now())
        const found = await searchEvents(ctx.db, scope, { ...search, page: search })
        return presentSearch(found, presentEvent, { search, url })
      },
    )

    http.get(
      '/sites/:site_id/devices/events/search',
      {
        schema: {
          operationId: 'searchSiteDeviceEvents',
          tags: ['Sites Devices'],
          params: SiteParams,
          querystring: SiteEventsSearch,
          response: { 200: EventsReply },
        },
      },
      async ({ caller, params, query, url }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const asked = { ...query, site_id: params.site_id, device_type: 'all' as const }
        const search = parseEventSearch(asked, ctx.clock.now())
        const found = await searchEvents(ctx.db, scope, { ...search, page: search })
        return presentSearch(found, presentEvent, { search, url })
      },
    )

    http.get(
      '/orgs/:org_id/devices/events/count',
      {
        schema: {
          operationId: 'countOrgDeviceEvents',
          tags: ['Orgs Devices'],
          params: OrgParams,
          querystring: OrgEventsCount,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const count = parseEventCount(query, ctx.clock.now())
        return presentCounts(await countEvents(ctx.db, scope, count), count)
      },
    )

    http.get(
      '/sites/:site_id/devices/events/count',
      {
        schema: {
          operationId: 'countSiteDeviceEvents',
          tags: ['Sites Devices'],
          params: SiteParams,
          querystring: SiteEventsCount,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const count = parseEventCount({ ...query, site_id: params.site_id }, ctx.clock.now())
        return presentCounts(await countEvents(ctx.db, scope, count), count)
      },
    )
  }
}
