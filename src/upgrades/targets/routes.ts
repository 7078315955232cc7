import { plainMac } from '../../devices/device.ts'
import { org } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { kinds } from '../kinds.ts'
import { getUpgradeTarget, listUpgradeTargets } from './store.ts'
import {
  UpgradeTargetDetailReply,
  UpgradeTargetReply,
  UpgradeTargetsQuery,
  parseTargetFilters,
  presentUpgradeTarget,
  presentUpgradeTargetDetail,
} from './wire.ts'

const tag = 'Upgrades'

/** The devices of an upgrade. Ours: the record lists all of them, which makes it unreadable for a large upgrade. */
export const upgradeTargetOperations: Operation[] = kinds.flatMap(({ kind, path, name, words }) =>
  [
    listOperation({
      id: `listOrg${name}UpgradeTargets`,
      summary: `List the devices of an upgrade${words}`,
      tag,
      at: org(`${path}/:upgrade_id/targets`, { needs: 'read' }),
      params: { upgrade_id: Uuid },
      query: UpgradeTargetsQuery,
      item: UpgradeTargetReply,
      run: async (ctx, { scope, params: { upgrade_id: id }, query, page }) =>
        presentPage(
          await listUpgradeTargets(ctx.db, scope, { id, kind, conditions: parseTargetFilters(query), page }),
          presentUpgradeTarget,
        ),
    }),
    operation({
      id: `getOrg${name}UpgradeTarget`,
      summary: `Get a device of an upgrade${words} with its commands and earlier runs`,
      method: 'GET',
      tag,
      at: org(`${path}/:upgrade_id/targets/:device_mac`, { needs: 'read' }),
      params: { upgrade_id: Uuid, device_mac: textOf('mac') },
      reply: UpgradeTargetDetailReply,
      run: async (ctx, { scope, params: { upgrade_id: id, device_mac: mac } }) =>
        presentUpgradeTargetDetail(await getUpgradeTarget(ctx.db, scope, { id, kind, mac: plainMac(mac) })),
    }),
  ].flat(),
)
