import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { deleteInvitesExpiredBefore } from './store-invites.ts'

/** So long an invitation that nobody accepted stays in the list, and its link says that it is too old. */
const KEEP_EXPIRED_MS = 30 * 24 * 3600e3

export async function sweepInvites(ctx: Context): Promise<void> {
  const before = addMs(ctx.clock.now(), -KEEP_EXPIRED_MS)
  await inTx(ctx, (tx) => deleteInvitesExpiredBefore(tx, before))
}
