import { systemScope } from '../../access/scope.ts'
import { appendSystemEvent } from '../../events/append-system.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { findTroubledDevice } from './store-trouble.ts'

/** A problem that the gateway has observed with a device, which the device itself does not report. */
export interface DeviceTrouble {
  readonly deviceId: string
  readonly type: keyof typeof endings
}

const endings = {
  DEVICE_CERTIFICATE_CLONED: 'is replaced again and again by another one with its certificate',
  DEVICE_SENDS_TOO_MUCH: 'sends more than the gateway reads, and was disconnected',
  DEVICE_UPTIME_MISSING: 'reports no uptime, so its boots may go unnoticed: it may lack a configuration',
} as const

/** Reports troubles to the organizations of the devices, each once a day. Unclaimed devices have none. */
export async function recordDeviceTroubles(ctx: Context, troubles: readonly DeviceTrouble[]): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    for (const { deviceId, type } of troubles) {
      const device = await findTroubledDevice(tx, deviceId)
      if (device === undefined) continue
      const { orgId, siteId, mac, name, firmware } = device
      await appendSystemEvent(
        tx,
        systemScope('gateway', orgId),
        {
          type,
          siteId,
          once: `${mac} ${at.toISOString().slice(0, 10)}`,
          text: `Device ${name ?? mac} ${endings[type]}`,
          details: {
            mac,
            device_type: device.type,
            ...(device.type === 'ap' && firmware !== null && { apfw: firmware }),
          },
        },
        at,
      )
    }
  })
}
