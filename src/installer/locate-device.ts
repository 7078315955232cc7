import { noCapabilities } from '../devices/commands/capabilities.ts'
import { type LocateOrder, queueLocate } from '../devices/commands/locate-device.ts'
import type { Installer } from '../orgs/installers/reach.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import { lockInstallerDevice } from './store.ts'

/**
 * Queues the command that makes a device blink, or stop blinking, with its audit record.
 * @throws AppError not_found; invalid if the device is offline or can't blink.
 */
export async function locateDevice(
  ctx: Context,
  installer: Installer,
  { mac, kind }: { readonly mac: string; readonly kind: LocateOrder['kind'] },
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const device = await lockInstallerDevice(tx, installer, mac)
    if (device === undefined) throw notFound(mac)
    const { connected, capabilities, ...located } = device
    const ready = { connected: connected === true, capabilities: capabilities ?? noCapabilities }
    const order: LocateOrder = { kind, params: {} }
    await queueLocate(tx, installer.scope, { device: { ...located, ...ready }, order, at: ctx.clock.now() })
  })
}
