import { plainMac } from '../../devices/device.ts'
import { orgAndSite } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { kinds } from '../kinds.ts'
import { getUpgradeTarget, listUpgradeTargets } from './store.ts'
import {
  SiteTargetsQuery,
  UpgradeTargetDetailReply,
  UpgradeTargetReply,
  UpgradeTargetsQuery,
  parseTargetFilters,
  presentUpgradeTarget,
  presentUpgradeTargetDetail,
} from './wire.ts'

const tag = { org: 'Upgrades', site: 'Upgrades' } as const

/** The devices of an upgrade. Ours: the record lists all of them, which makes it unreadable for a large upgrade. */
export const upgradeTargetOperations: Operation[] = kinds.flatMap(({ kind, path, name, words }) =>
  [
    listOperation({
      id: { org: `listOrg${name}UpgradeTargets`, site: `listSite${name}UpgradeTargets` },
      summary: {
        org: `List the devices of an upgrade${words}`,
        site: `List the devices of an upgrade${words} at a site`,
      },
      tag,
      at: orgAndSite(`${path}/:upgrade_id/targets`, { needs: 'read' }),
      params: { upgrade_id: Uuid },
      query: { org: UpgradeTargetsQuery, site: SiteTargetsQuery },
      item: UpgradeTargetReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, query, page }) =>
        presentPage(
          await listUpgradeTargets(ctx.db, scope, { id, kind, conditions: parseTargetFilters(query), page }),
          presentUpgradeTarget,
        ),
    }),
    operation({
      id: { org: `getOrg${name}UpgradeTarget`, site: `getSite${name}UpgradeTarget` },
      summary: {
        org: `Get a device of an upgrade${words} with its commands and earlier runs`,
        site: `Get a device of an upgrade${words} at a site with its commands and runs`,
      },
      method: 'GET',
      tag,
      at: orgAndSite(`${path}/:upgrade_id/targets/:device_mac`, { needs: 'read' }),
      params: { upgrade_id: Uuid, device_mac: textOf('mac') },
      reply: UpgradeTargetDetailReply,
      run: async (ctx, { scope, params: { upgrade_id: id, device_mac: mac } }) =>
        presentUpgradeTargetDetail(await getUpgradeTarget(ctx.db, scope, { id, kind, mac: plainMac(mac) })),
    }),
  ].flat(),
)
