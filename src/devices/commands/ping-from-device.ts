import type { SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { shareCommandCandidates } from '../store.ts'
import type { PingParams } from './command.ts'
import { queueCommand } from './queue-commands.ts'

/**
 * Queues the command that makes a device send pings, with its audit record. The output is stored with the command.
 * @returns The id of the command.
 * @throws AppError not_found; invalid if the device is offline or can't do it.
 */
export async function pingFromDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, params }: { readonly deviceId: string; readonly params: PingParams },
): Promise<string> {
  return inTx(ctx, async (tx) => {
    const [device] = await shareCommandCandidates(tx, scope, [deviceId])
    if (device === undefined) throw notFound(deviceId)
    return queueCommand(tx, scope, {
      device,
      order: { kind: 'ping', params },
      at: ctx.clock.now(),
      audit: { message: `Ping ${params.host} from device`, after: () => ({ ...params }) },
    })
  })
}
