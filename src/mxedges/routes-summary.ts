import { DevicesSummaryReply, presentSummary } from '../devices/search/wire.ts'
import { countTypes } from '../devices/store-counts.ts'
import { orgSites } from '../http/at.ts'
import { type Operation, operation } from '../http/operation.ts'
import { countVisibleMxedges } from './store.ts'

/** Counts devices and edge appliances together. Source: contract, Orgs Devices. */
export const summaryOperations: Operation[] = operation({
  id: 'listOrgDevicesSummary',
  summary: 'Count the devices of an organization by type',
  method: 'GET',
  tag: 'Orgs Devices',
  at: orgSites('/devices/summary', { needs: 'read' }),
  reply: DevicesSummaryReply,
  run: async (ctx, { scope }) =>
    presentSummary(await countTypes(ctx.db, scope), await countVisibleMxedges(ctx.db, scope)),
})
