import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { findCommandRefusal, queueCommands } from '../commands/queue-commands.ts'
import { shareCommandCandidates } from '../store.ts'

export interface SupportOptions {
  /** True when the device CA signed the certificate of the HTTPS server that devices upload to. */
  readonly localCertificates: boolean
}

/**
 * Queues the command that lets a device collect support files and upload them, with its audit record.
 * @returns The id of the command, which is that of the file.
 * @throws AppError not_found; invalid where the device is offline, or can't do it.
 */
export async function requestSupport(
  ctx: Context,
  scope: SiteScope,
  { deviceId, localCertificates }: SupportOptions & { readonly deviceId: string },
): Promise<string> {
  return inTx(ctx, async (tx) => {
    const [device] = await shareCommandCandidates(tx, scope, [deviceId])
    if (device === undefined) throw notFound(deviceId)
    const order = { kind: 'support', params: {} } as const
    const refusal = findCommandRefusal(device, order)
    if (refusal !== null) throw new AppError('invalid', refusal)
    if (localCertificates && /^https:/i.test(ctx.baseUrl)) throw new AppError('invalid', UNTRUSTED)
    const at = ctx.clock.now()
    const [commandId = ''] = await queueCommands(tx, scope, { devices: [device], order, at })
    await appendAudit(tx, scope, {
      message: `Collect support files of device ${device.name ?? device.mac}`,
      siteId: scope.siteId,
      deviceId: device.id,
      after: { mac: device.mac, id: commandId },
      at,
    })
    return commandId
  })
}

const UNTRUSTED =
  "The device can't upload to this server: devices trust only public CAs there, but the device CA signed its certificate"
