import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { shareCommandCandidates } from '../store.ts'
import type { PingParams } from './command.ts'
import { findCommandRefusal, queueCommands } from './queue-commands.ts'

/**
 * Queues the command that lets a device send pings, with its audit record. The output is stored with the command.
 * @returns The id of the command.
 * @throws AppError not_found; invalid where the device is offline or can't do it.
 */
export async function pingFromDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, params }: { readonly deviceId: string; readonly params: PingParams },
): Promise<string> {
  return inTx(ctx, async (tx) => {
    const [device] = await shareCommandCandidates(tx, scope, [deviceId])
    if (device === undefined) throw notFound(deviceId)
    const order = { kind: 'ping', params } as const
    const refusal = findCommandRefusal(device, order)
    if (refusal !== null) throw new AppError('invalid', refusal)
    const at = ctx.clock.now()
    const [commandId = ''] = await queueCommands(tx, scope, { devices: [device], order, at })
    await appendAudit(tx, scope, {
      message: `Ping ${params.host} from device ${device.name ?? device.mac}`,
      siteId: scope.siteId,
      deviceId: device.id,
      after: { mac: device.mac, ...params },
      at,
    })
    return commandId
  })
}
