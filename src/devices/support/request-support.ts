import type { SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { queueCommand } from '../commands/queue-commands.ts'
import { listRouterKeys } from '../routers/store.ts'
import { shareCommandCandidates } from '../store.ts'

export interface SupportOptions {
  /** True when the device CA signed the certificate of the HTTPS server that devices upload to. */
  readonly localCertificates: boolean
}

/**
 * Queues the command that makes a device collect support files and upload them, with its audit record.
 * @returns The id of the command, which is that of the file.
 * @throws AppError not_found; invalid if the device is offline, or can't do it.
 */
export async function requestSupport(
  ctx: Context,
  scope: SiteScope,
  { deviceId, localCertificates }: SupportOptions & { readonly deviceId: string },
): Promise<string> {
  return inTx(ctx, async (tx) => {
    const [device] = await shareCommandCandidates(tx, scope, [deviceId])
    if (device === undefined) throw notFound(deviceId)
    const [routerKey] = await listRouterKeys(tx, [deviceId])
    // The agent of a router trusts the CA that has signed its own certificate.
    if (routerKey === undefined && localCertificates && /^https:/i.test(ctx.baseUrl))
      throw new AppError('invalid', UNTRUSTED)
    return queueCommand(tx, scope, {
      device,
      order: { kind: 'support', params: {} },
      at: ctx.clock.now(),
      audit: { message: 'Collect support files of device', after: (id) => ({ id }) },
    })
  })
}

const UNTRUSTED =
  "The device can't upload to this server: devices trust only public CAs there, but the device CA signed its certificate"
