import type { AlarmDetails } from '../../events/alarms/alarm-types.ts'
import { endAlarms, raiseAlarms } from '../../events/alarms/store.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { type DownDevice, listDownDevices, listRecoveredDevices } from './store.ts'

/** The longest time that the devices of the catalog need to reboot. */
const REBOOT_MS = 15 * 60_000
/** Bounds a transaction: after a power cut a whole fleet is down. */
const BATCH = 1000

/**
 * Compares the devices that are offline with the open alarms, raises those that are missing and ends those that are
 * over.
 * @returns True if there may be more to do.
 */
export async function watchDevices(ctx: Context): Promise<boolean> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const down = await listDownDevices(tx, { rebootedSince: addMs(at, -REBOOT_MS), limit: BATCH })
    const recovered = await listRecoveredDevices(tx, BATCH)
    const raised = down.map((device) => {
      const { orgId, siteId, deviceId: subject } = device
      const text = `${device.name ?? device.mac} is offline`
      return { orgId, siteId, type: 'device_down' as const, subject, text, details: aboutDevice(device) }
    })
    const ended = recovered.map(({ orgId, deviceId: subject }) => ({ orgId, type: 'device_down' as const, subject }))
    await raiseAlarms(tx, raised, at)
    await endAlarms(tx, ended, at)
    return down.length === BATCH || recovered.length === BATCH
  })
}

const fields = { ap: 'aps', switch: 'switches', gateway: 'gateways' } as const

function aboutDevice({ type, mac, name }: DownDevice): AlarmDetails {
  return { [fields[type]]: [mac], hostnames: [name ?? mac] }
}
