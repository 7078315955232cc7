import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { MAIL_WINDOW_MS } from '../mail/mail-quota.ts'
import { deleteMailsSentUntil } from '../mail/store-mail-quota.ts'
import { deletePendingExpiredBefore } from './store.ts'

/** How long an expired link is still reported as expired. After that it is unknown. */
const KEEP_EXPIRED_MS = 30 * 24 * 3600e3

/** Deletes expired, unverified registrations, and mails that no longer count against the quota. */
export async function sweepRegistrations(ctx: Context): Promise<void> {
  const now = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await deletePendingExpiredBefore(tx, addMs(now, -KEEP_EXPIRED_MS))
    await deleteMailsSentUntil(tx, addMs(now, -MAIL_WINDOW_MS))
  })
}
