import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { ReleasedTarget } from '../changes/plan-release.ts'
import { type OnItsWay, leavingReason } from '../targets/hops/hops.ts'
import { appendUpgradeEvents, wantsDeviceEvents } from './append-events.ts'

/** Appends the events of devices that their upgrades lose, if a webhook subscribes. */
export async function appendReleasedDevices(
  tx: Tx,
  scope: InOrg,
  released: readonly (ReleasedTarget & OnItsWay & { readonly siteId: string | undefined })[],
  { reason, now }: { readonly reason: string; readonly now: Date },
): Promise<void> {
  if (!(await wantsDeviceEvents(tx, scope))) return
  const events = released.map((target) => {
    const { deviceId, mac, phase, upgradeId, orgUpgradeId, siteId } = target
    return {
      type: 'UPGRADE_DEVICE_CANCELLED' as const,
      ...{ upgrade_id: orgUpgradeId, site_upgrade_id: upgradeId, device_id: deviceId, mac, phase },
      ...(siteId !== undefined && { site_id: siteId }),
      reason: leavingReason(reason, target),
    }
  })
  await appendUpgradeEvents(tx, scope, events, now)
}
