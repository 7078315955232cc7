import { systemScopeOf } from '../../access/scope.ts'
import { listAdminAddresses } from '../../accounts/admins/store-admin-addresses.ts'
import { consumeMailQuota } from '../../accounts/mail/mail-quota.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { shareOrgIfAny } from '../../orgs/store.ts'
import type { Mailer } from '../../platform/outbound/mail.ts'
import { shareWebhooks } from '../delivery/store-unrouted.ts'
import { decideNotice, disables, noticeHours } from './decide-notice.ts'
import { disableWebhook } from './disable-webhook.ts'
import { noticeMail } from './notice-mail.ts'
import {
  type FailingLane,
  type UnmailedNotice,
  listFailingLanes,
  listUnmailedNotices,
  markMailed,
  upsertNotice,
} from './store-notices.ts'
import { lockWebhookIfAny } from '../store.ts'

/** Notifies admins of webhooks that have failed for long, and disables those that have failed for longest. */
export async function watchFailing(ctx: Context, mailer: Mailer): Promise<void> {
  const now = ctx.clock.now()
  const before = addMs(now, -noticeHours[0] * 3600e3)
  for (const lane of await listFailingLanes(ctx.db, { before }))
    if (decideNotice(lane, now) !== null) await inTx(ctx, (tx) => noteFailing(tx, lane, now))
  await mailNotices(ctx, mailer)
}

async function noteFailing(tx: Tx, { orgId, webhookId, siteId }: FailingLane, now: Date): Promise<void> {
  const scope = systemScopeOf('webhooks', { orgId, siteId })
  if (!(await shareOrgIfAny(tx, scope))) return
  const row = await lockWebhookIfAny(tx, scope, webhookId)
  // It was read without a lock: it may have recovered, or another process may have recorded it.
  const [lane] = row === undefined ? [] : await listFailingLanes(tx, { before: now, only: { orgId, webhookId } })
  const hours = lane === undefined ? null : decideNotice(lane, now)
  if (row === undefined || lane === undefined || hours === null) return
  await upsertNotice(tx, { orgId, webhookId, failingSince: lane.failingSince, hours })
  if (disables(hours)) await disableWebhook(tx, scope, { row, why: 'failing', at: now })
}

/** Mails the notices, all of an organization in one mail. Notices without a possible recipient now are retried. */
async function mailNotices(ctx: Context, mailer: Mailer): Promise<void> {
  const byOrg = Map.groupBy(await listUnmailedNotices(ctx.db), ({ orgId }) => orgId)
  for (const [orgId, notices] of byOrg)
    if (await mailAdmins(ctx, mailer, { orgId, notices }))
      await inTx(ctx, async (tx) => {
        // Notices are deleted with their webhooks, in any order.
        await shareWebhooks(tx, notices)
        for (const notice of notices) await markMailed(tx, notice)
      })
}

/** @returns False if no admin could get the mail now. */
async function mailAdmins(
  ctx: Context,
  mailer: Mailer,
  { orgId, notices }: { readonly orgId: string; readonly notices: readonly UnmailedNotice[] },
): Promise<boolean> {
  const addresses = await listAdminAddresses(ctx.db, systemScopeOf('webhooks', { orgId, siteId: null }))
  let sent = 0
  for (const to of addresses) {
    // Somebody may have named the addresses of others through their own identity provider.
    if (!(await inTx(ctx, (tx) => consumeMailQuota(tx, `webhooks ${to}`, ctx.clock.now())))) continue
    try {
      await mailer.send(noticeMail(to, notices, ctx.baseUrl))
      sent += 1
    } catch (error) {
      ctx.log.warn({ err: error, orgId }, 'could not send a mail about failing webhooks')
    }
  }
  return sent > 0 || addresses.length === 0
}
