import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../access/scope.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { hasOpenCommand, insertCommands } from '../commands/store.ts'
import { lockClaimedStatuses } from './store.ts'

const EXPIRES_MS = 60_000

/**
 * A device in recovery mode asks to be rebooted: it gets that as a command, unless it is held unclaimed,
 * or has a command already: however often it asks, one is under way.
 */
export async function recordRecovery(ctx: Context, deviceId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const [known] = await lockClaimedStatuses(tx, [deviceId])
    if (known === undefined) return
    const scope = systemScope('gateway', known.orgId)
    if (await hasOpenCommand(tx, scope, deviceId)) return
    await insertCommands(tx, scope, [
      {
        id: uuidv7(),
        deviceId,
        jobId: null,
        kind: 'restart',
        params: {},
        attempt: 1,
        createdAt: at,
        expiresAt: addMs(at, EXPIRES_MS),
      },
    ])
  })
}
