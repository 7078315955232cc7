import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { DeviceCertificate } from './certificate.ts'
import { insertIssued, upsertRevoked } from './store.ts'

/** Records a certificate, so that a revocation of all earlier ones of the device spares it. */
export async function recordIssuedCertificate(ctx: Context, certificate: DeviceCertificate): Promise<void> {
  await inTx(ctx, (tx) => insertIssued(tx, certificate, ctx.clock.now()))
}

/**
 * Revokes a client certificate: its device is disconnected immediately and can't reconnect with it.
 * @param certificate An empty serial stands for all certificates of the device that were issued until now.
 */
export async function revokeCertificates(ctx: Context, certificate: DeviceCertificate): Promise<void> {
  await inTx(ctx, async (tx) => {
    await upsertRevoked(tx, certificate, ctx.clock.now())
    wakeAfterCommit(tx, 'revocations')
  })
  ctx.log.info(certificate, 'revoked the certificate of a device; without a serial, all of them')
}
