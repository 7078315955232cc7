import { orgSitesAndSite } from '../../http/at.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import type { Operation } from '../../http/operation.ts'
import { countDevices, searchDevices } from './store.ts'
import { DeviceHitReply, deviceCount, deviceSearch, presentHit } from './wire.ts'

const tag = { org: 'Orgs Devices', site: 'Sites Devices' } as const

/** Searches for devices. Source: contract, Orgs Devices and Sites Devices. */
export const deviceSearchOperations: Operation[] = [
  searchOperation({
    id: { org: 'searchOrgDevices', site: 'searchSiteDevices' },
    summary: {
      org: 'Search the devices of an organization',
      site: 'Search the devices of a site',
    },
    tag,
    at: orgSitesAndSite('/devices/search', { needs: 'read' }),
    ...deviceSearch,
    item: DeviceHitReply,
    // Only a range that ends in the past limits the devices, which costs more than reading all of them.
    keepsRange: false,
    run: async (ctx, { scope, search }) => {
      const now = ctx.clock.now()
      return presentPage(await searchDevices(ctx.db, scope, { ...search, page: search }), (hit) => presentHit(hit, now))
    },
  }),
  countOperation({
    id: { org: 'countOrgDevices', site: 'countSiteDevices' },
    summary: {
      org: 'Count the devices of an organization by a field',
      site: 'Count the devices of a site by a field',
    },
    tag,
    at: orgSitesAndSite('/devices/count', { needs: 'read' }),
    ...deviceCount,
    run: (ctx, { scope, search }) => countDevices(ctx.db, scope, search),
  }),
].flat()
