import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { deleteInvitesExpiredBefore } from './store-invites.ts'

/** How long an expired invitation stays in the list, and its link is reported as expired. */
const KEEP_EXPIRED_MS = 30 * 24 * 3600e3

export async function sweepInvites(ctx: Context): Promise<void> {
  const before = addMs(ctx.clock.now(), -KEEP_EXPIRED_MS)
  await inTx(ctx, (tx) => deleteInvitesExpiredBefore(tx, before))
}
