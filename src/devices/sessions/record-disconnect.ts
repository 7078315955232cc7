import { systemScope } from '../../access/scope.ts'
import { appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/db.ts'
import { wakeAfterCommit } from '../../platform/wakes.ts'
import { eventDevice, groupByOrg } from './event-device.ts'
import { loseCommands } from '../commands/store.ts'
import { type SessionKey, closeSessions, lockClaimedStatuses, saveDisconnected } from './store.ts'

/**
 * Closes sessions whose sockets have closed, and tells of the devices that are down by that. A device
 * that has a newer session is not: only what was in flight on the old one is lost.
 */
export async function recordDisconnects(ctx: Context, keys: readonly SessionKey[]): Promise<void> {
  const ordered = keys.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    // Sessions before commands, as when a device connects: one order of locks, hence no deadlock.
    const closed = await closeSessions(tx, ordered)
    await loseCommands(tx, ordered, { at, why: 'connection_lost' })
    await applyDisconnections(
      tx,
      closed.map(({ deviceId }) => deviceId),
      at,
    )
  })
}

/** Marks the claimed ones among the devices as down and tells of those that were up. */
export async function applyDisconnections(tx: Tx, deviceIds: readonly string[], at: Date): Promise<void> {
  const known = await lockClaimedStatuses(tx, deviceIds)
  const down = known.filter(({ connected }) => connected)
  if (down.length === 0) return
  await saveDisconnected(
    tx,
    down.map(({ deviceId }) => deviceId),
    at,
  )
  for (const [orgId, some] of groupByOrg(down)) {
    const happenings = some.map((status) => ({ device: eventDevice(status), what: 'DISCONNECTED' as const }))
    await appendDeviceEvents(tx, systemScope('gateway', orgId), happenings, at)
  }
  wakeAfterCommit(tx, 'rollouts')
}
