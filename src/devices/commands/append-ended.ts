import { systemScope } from '../../access/scope.ts'
import { appendDeviceEvents } from '../../events/append.ts'
import type { Tx } from '../../platform/db.ts'
import { deviceOfEvent, listDevicesById } from '../store.ts'
import type { LossReason } from './command.ts'
import { type EndedCommand, markCommandsLost } from './store.ts'

/** Appends the events of commands that have just ended: of recovery snapshots, in the transaction that ends them. */
export async function appendEndedCommands(tx: Tx, ended: readonly EndedCommand[], at: Date): Promise<void> {
  const snapshots = ended.filter(({ kind }) => kind === 'snapshot')
  for (const [orgId, commands] of Map.groupBy(snapshots, (command) => command.orgId)) {
    const scope = systemScope('gateway', orgId)
    const devices = await listDevicesById(
      tx,
      scope,
      commands.map(({ deviceId }) => deviceId),
    )
    const byId = new Map(devices.map((device) => [device.id, device]))
    const events = commands.flatMap(({ deviceId, state, outcome }) => {
      const device = byId.get(deviceId)
      if (device === undefined) return []
      const what = state === 'done' ? ('RECOVERY_SNAPSHOT_SUCCEEDED' as const) : ('RECOVERY_SNAPSHOT_FAILED' as const)
      const text = outcome?.['text'] ?? outcome?.['why']
      return [{ device: deviceOfEvent(device), what, ...(typeof text === 'string' && { text }) }]
    })
    await appendDeviceEvents(tx, scope, events, at)
  }
}

/** Ends the commands in flight on the sessions as markCommandsLost() does, with their events. */
export async function recordCommandsLost(
  tx: Tx,
  sessions: readonly { readonly deviceId: string; readonly epoch: string }[],
  loss: { readonly at: Date; readonly why: LossReason },
): Promise<void> {
  await appendEndedCommands(tx, await markCommandsLost(tx, sessions, loss), loss.at)
}
