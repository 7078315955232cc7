import type { Tx } from '../../platform/database/db.ts'
import { withLastSeen } from './hardware.ts'
import { type DeviceHardware, listKnownHardware, upsertHardware } from './store.ts'

/** Stores the last hardware of each device, whose status is locked. */
export async function recordHardware(tx: Tx, received: readonly DeviceHardware[], at: Date): Promise<void> {
  if (received.length === 0) return
  const known = await listKnownHardware(tx, received)
  const atS = Math.floor(at.getTime() / 1000)
  const rows = received.map((one) => ({
    ...one,
    hardware: withLastSeen(one.hardware, known.get(one.deviceId) ?? null, atS),
  }))
  await upsertHardware(tx, rows)
}
