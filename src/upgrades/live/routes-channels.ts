import { org, site } from '../../http/at.ts'
import type { StreamPart } from '../../http/stream/channel.ts'
import { paths } from '../kinds.ts'
import { listLiveSites, listLiveUpgrades } from './store.ts'
import { presentLiveSite, presentLiveUpgrade } from './wire.ts'

const needs = { needs: 'read' } as const

/** Live changes of upgrades: how many devices are in which state, never which. */
export const upgradeStream: StreamPart = {
  channels: [
    { at: org(paths.device, needs), kinds: ['upgrade', 'site_upgrade'] },
    { at: org(paths.ssr, needs), kinds: ['upgrade', 'site_upgrade'] },
    { at: site(paths.device, needs), kinds: ['site_upgrade'] },
    { at: site(paths.ssr, needs), kinds: ['site_upgrade'] },
  ],
  sources: [
    {
      kind: 'upgrade',
      async read(ctx, scope, ids) {
        const upgrades = await listLiveUpgrades(ctx.db, scope, ids)
        return upgrades.map((upgrade) => {
          return { channels: [`/orgs/${scope.orgId}${paths[upgrade.kind]}`], data: presentLiveUpgrade(upgrade) }
        })
      },
    },
    {
      kind: 'site_upgrade',
      async read(ctx, scope, ids) {
        const parts = await listLiveSites(ctx.db, scope, ids)
        return parts.map((part) => {
          const path = paths[part.kind]
          return {
            channels: [`/orgs/${scope.orgId}${path}`, `/sites/${part.siteId}${path}`],
            data: presentLiveSite(part),
          }
        })
      },
    },
  ],
}
