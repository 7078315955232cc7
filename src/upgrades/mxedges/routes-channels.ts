import { orgAndSite } from '../../http/at.ts'
import type { StreamPart } from '../../http/stream/channel.ts'
import { listUpgradesById } from '../../mxedges/upgrades/store-records.ts'
import { presentMxedgeUpgradeItem } from './wire.ts'

const path = '/mxedges/upgrade'
const { org, site } = orgAndSite(path, { needs: 'read' })

/** Live changes of upgrades of edge appliances, as their lists have them: counts, and no appliance. */
export const mxedgeUpgradeStream: StreamPart = {
  channels: [
    { at: org, kinds: ['mxedge_upgrade'] },
    { at: site, kinds: ['mxedge_upgrade'] },
  ],
  sources: [
    {
      kind: 'mxedge_upgrade',
      async read(ctx, scope, ids) {
        const upgrades = await listUpgradesById(ctx.db, scope, ids)
        return upgrades.map(({ place, ...upgrade }) => {
          const ofSite = place === null ? [] : [`/sites/${place}${path}`]
          return { channels: [`/orgs/${scope.orgId}${path}`, ...ofSite], data: presentMxedgeUpgradeItem(upgrade) }
        })
      },
    },
  ],
}
