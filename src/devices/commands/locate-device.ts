import type { InOrg, SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { invalidField, notFound } from '../../platform/errors.ts'
import { shareCommandCandidates } from '../store.ts'
import type { CommandOrder } from './command.ts'
import { type Commanded, queueCommand } from './queue-commands.ts'

export type LocateOrder = Extract<CommandOrder, { kind: 'locate' | 'unlocate' }>

export interface LocateRequest {
  readonly deviceId: string
  readonly order: LocateOrder
  /** The MAC of the part that is to blink; null for the device. */
  readonly mac: string | null
}

/**
 * Queues the command that makes a device of the site blink, or stop blinking, with its audit record.
 * @throws AppError not_found; invalid if the device is offline, can't blink, or `mac` is not its own.
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

/**
 * Queues the command for a device that `tx` has locked.
 * @throws AppError invalid if the device is offline or can't blink.
 */
export async function queueLocate(
  tx: Tx,
  scope: InOrg,
  { device, order, at }: { readonly device: Commanded; readonly order: LocateOrder; readonly at: Date },
): Promise<void> {
  const message = order.kind === 'locate' ? 'Locate device' : 'Unlocate device'
  await queueCommand(tx, scope, { device, order, at, audit: { message } })
}
