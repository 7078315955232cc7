import { systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { type RenewingRouter, type RouterKey, updateRenewalKey, updateRenewed } from './store.ts'

/**
 * Admits another key for the next certificate of a router. The present key counts until the router has connected with
 * the next one, so a lost answer doesn't lock the router out.
 * @returns False if the session no longer counts.
 */
export function renewRouterCertificate(ctx: Context, router: RenewingRouter, renewalKey: string): Promise<boolean> {
  return inTx(ctx, (tx) => updateRenewalKey(tx, router, renewalKey))
}

/** Ends the former key of a router that connects with the one of its next certificate. */
export async function recordRouterRenewed(tx: Tx, key: RouterKey & { readonly mac: string }, at: Date): Promise<void> {
  await updateRenewed(tx, key)
  await appendAudit(tx, systemScope('gateway', key.orgId), {
    message: `Router ${key.mac} renewed its certificate`,
    deviceId: key.deviceId,
    before: { key_sha256: key.keySha256 },
    after: { key_sha256: key.renewalKeySha256 },
    at,
  })
}
