import { noteChanges } from '../../platform/database/changes.ts'

/** Notifies watchers that the statistics of devices have changed, once `tx` has committed. */
export function noteStats(tx: object, devices: readonly { readonly orgId: string; readonly deviceId: string }[]): void {
  noteChanges(
    tx,
    'device_stats',
    devices.map(({ orgId, deviceId }) => ({ orgId, id: deviceId })),
  )
}
