import { orgSitesAndSite } from '../../http/at.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import type { Operation } from '../../http/operation.ts'
import { countEvents, searchEvents } from './store.ts'
import { EventReply, deviceEventCount, deviceEventSearch, presentEvent } from './wire.ts'

const tag = { org: 'Orgs Devices', site: 'Sites Devices' } as const

/** Events of devices. Source: contract, Orgs Devices and Sites Devices. */
export const deviceEventOperations: Operation[] = [
  searchOperation({
    id: { org: 'searchOrgDeviceEvents', site: 'searchSiteDeviceEvents' },
    summary: {
      org: 'Search the device events of an organization',
      site: 'Search the device events of a site',
    },
    tag,
    at: orgSitesAndSite('/devices/events/search', { needs: 'read' }),
    ...deviceEventSearch,
    item: EventReply,
    run: async (ctx, { scope, search }) =>
      presentPage(await searchEvents(ctx.db, scope, { ...search, page: search }), presentEvent),
  }),
  countOperation({
    id: { org: 'countOrgDeviceEvents', site: 'countSiteDeviceEvents' },
    summary: {
      org: 'Count the device events of an organization by a field',
      site: 'Count the device events of a site by a field',
    },
    tag,
    at: orgSitesAndSite('/devices/events/count', { needs: 'read' }),
    ...deviceEventCount,
    run: (ctx, { scope, search }) => countEvents(ctx.db, scope, search),
  }),
].flat()
