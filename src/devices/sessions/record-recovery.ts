import { uuidv7 } from '../../platform/uuidv7.ts'
import { systemScope } from '../../access/scope.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { shareUpgradesInFlight } from '../commands/store-upgrades.ts'
import { hasOpenCommand, insertCommands } from '../commands/store.ts'
import { findOwner, lockClaimedStatuses } from './store.ts'

const EXPIRES_MS = 60_000

/**
 * Queues the reboot that a device in recovery mode requests. An unclaimed device gets none, nor does a device that
 * already has a command, or one in an upgrade: the upgrade decides about the device, which repeats its request
 * afterwards.
 */
export async function recordRecovery(ctx: Context, deviceId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const orgId = await findOwner(tx, deviceId)
    if (orgId === undefined) return
    const scope = systemScope('gateway', orgId)
    if ((await shareUpgradesInFlight(tx, scope, [deviceId])).size > 0) return
    const [known] = await lockClaimedStatuses(tx, [deviceId])
    if (known?.orgId !== orgId) return
    if (await hasOpenCommand(tx, scope, deviceId)) return
    await insertCommands(tx, scope, [
      {
        id: uuidv7(),
        deviceId,
        siteId: known.siteId,
        siteUpgradeId: null,
        kind: 'restart',
        params: {},
        attempt: 1,
        createdAt: at,
        expiresAt: addMs(at, EXPIRES_MS),
      },
    ])
  })
}
