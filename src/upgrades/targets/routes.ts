import { plainMac } from '../../devices/device.ts'
import { org } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
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
const targets = '/devices/upgrade/:upgrade_id/targets'

/** The devices of an upgrade. Ours: the record lists all of them, which makes it unreadable for a large upgrade. */
export const upgradeTargetOperations: Operation[] = [
  listOperation({
    id: 'listOrgDeviceUpgradeTargets',
    summary: 'List the devices of an upgrade',
    tag,
    at: org(targets, { needs: 'read' }),
    params: { upgrade_id: Uuid },
    query: UpgradeTargetsQuery,
    item: UpgradeTargetReply,
    run: async (ctx, { scope, params: { upgrade_id: id }, query, page }) =>
      presentPage(
        await listUpgradeTargets(ctx.db, scope, { id, conditions: parseTargetFilters(query), page }),
        presentUpgradeTarget,
      ),
  }),
  operation({
    id: 'getOrgDeviceUpgradeTarget',
    summary: 'Get a device of an upgrade with its commands and earlier runs',
    method: 'GET',
    tag,
    at: org(`${targets}/:device_mac`, { needs: 'read' }),
    params: { upgrade_id: Uuid, device_mac: textOf('mac') },
    reply: UpgradeTargetDetailReply,
    run: async (ctx, { scope, params: { upgrade_id: id, device_mac: mac } }) =>
      presentUpgradeTargetDetail(await getUpgradeTarget(ctx.db, scope, { id, mac: plainMac(mac) })),
  }),
].flat()
