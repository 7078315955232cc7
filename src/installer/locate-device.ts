import { uuidv7 } from 'uuidv7'
import { findRefusal, noCapabilities } from '../devices/commands/capabilities.ts'
import { insertCommands } from '../devices/commands/store.ts'
import { appendAudit } from '../events/append.ts'
import type { Installer } from '../orgs/installers/reach.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { lockInstallerDevice } from './store.ts'

/** By then the installer has moved on. */
const SEND_WITHIN_MS = 60_000

/**
 * Queues the command that makes a device blink, or stop blinking, with its audit record.
 * @throws AppError not_found; invalid where the device is offline or can't blink.
 */
export async function locateDevice(
  ctx: Context,
  installer: Installer,
  { mac, kind }: { readonly mac: string; readonly kind: 'locate' | 'unlocate' },
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const device = await lockInstallerDevice(tx, installer, mac)
    if (device === undefined) throw notFound(mac)
    if (device.connected !== true) throw new AppError('invalid', `Cannot ${kind} an offline device`)
    const refusal = findRefusal(device.capabilities ?? noCapabilities, { kind, params: {} })
    if (refusal !== null) throw new AppError('invalid', refusal)
    const at = ctx.clock.now()
    const expiresAt = addMs(at, SEND_WITHIN_MS)
    await insertCommands(tx, installer.scope, [
      {
        kind,
        params: {},
        id: uuidv7(),
        deviceId: device.id,
        siteUpgradeId: null,
        attempt: 1,
        createdAt: at,
        expiresAt,
      },
    ])
    await appendAudit(tx, installer.scope, {
      message: `${kind === 'locate' ? 'Locate' : 'Unlocate'} device ${device.name ?? device.mac}`,
      siteId: device.siteId,
      deviceId: device.id,
      after: { mac: device.mac },
      at,
    })
  })
}
