import type { InOrg, SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { type Device, shareCommandCandidates } from '../store.ts'
import type { CommandOrder } from './command.ts'
import { type Readiness, findCommandRefusal, queueCommands } from './queue-commands.ts'

export type LocateOrder = Extract<CommandOrder, { kind: 'locate' | 'unlocate' }>

export interface LocateRequest {
  readonly deviceId: string
  readonly order: LocateOrder
  /** The MAC of the part that is to blink; null for the device. */
  readonly mac: string | null
}

/**
 * Queues the command that makes a device of the site blink, or stop blinking, with its audit record.
 * @throws AppError not_found; invalid where the device is offline, can't blink, or `mac` is not its own.
 */
export async function locateDevice(ctx: Context, scope: SiteScope, request: LocateRequest): Promise<void> {
  await inTx(ctx, async (tx) => {
    const { deviceId, order, mac } = request
    const [device] = await shareCommandCandidates(tx, scope, [deviceId])
    if (device === undefined) throw notFound(deviceId)
    if (mac !== null && mac !== device.mac)
      throw invalidField('mac', `${mac} is not the device's own MAC ${device.mac}, and no part of it can blink alone`)
    await queueLocate(tx, scope, { device, order, at: ctx.clock.now() })
  })
}

type LocatedDevice = Readiness & Pick<Device, 'id' | 'mac' | 'name' | 'siteId'>

/**
 * Queues the command for a device that `tx` has locked.
 * @throws AppError invalid where the device is offline or can't blink.
 */
export async function queueLocate(
  tx: Tx,
  scope: InOrg,
  { device, order, at }: { readonly device: LocatedDevice; readonly order: LocateOrder; readonly at: Date },
): Promise<void> {
  const refusal = findCommandRefusal(device, order)
  if (refusal !== null) throw new AppError('invalid', refusal)
  await queueCommands(tx, scope, { devices: [device], order, at })
  await appendAudit(tx, scope, {
    message: `${order.kind === 'locate' ? 'Locate' : 'Unlocate'} device ${device.name ?? device.mac}`,
    siteId: device.siteId,
    deviceId: device.id,
    after: { mac: device.mac },
    at,
  })
}
