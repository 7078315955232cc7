import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { callHomeSecretOf } from './secret.ts'
import { advanceSecretGeneration } from './store.ts'

/**
 * Replaces the secret by which new devices call home. Devices with a known host key still connect; others need the new
 * commands.
 * @returns The new secret.
 */
export function rotateCallHomeSecret(ctx: Context, scope: OrgScope): Promise<string> {
  return inTx(ctx, async (tx) => {
    const generation = await advanceSecretGeneration(tx, scope)
    const message = 'Replace the secret by which Junos devices call home'
    await appendAudit(tx, scope, { message, at: ctx.clock.now() })
    return callHomeSecretOf(ctx, { orgId: scope.orgId, generation })
  })
}
