import { systemScopeOf } from '../../access/scope.ts'
import { listAdminAddresses } from '../../accounts/admins/store-admin-addresses.ts'
import { consumeMailQuota } from '../../accounts/mail/mail-quota.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { eachInTurn } from '../../platform/queues/each-in-turn.ts'
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

/**
 * Notifies admins of webhooks that have failed for long, and disables those that have failed for longest.
 * @throws Error if that failed for some webhooks or organizations; all others have had their turn then.
 */
export async function watchFailing(ctx: Context, mailer: Mailer): Promise<void> {
  const now = ctx.clock.now()
  const before = addMs(now, -noticeHours[0] * 3600e3)
  const due = (await listFailingLanes(ctx.db, { before })).filter((lane) => decideNotice(lane, now) !== null)
  try {
    await eachInTurn(
      due,
      (lane) => inTx(ctx, (tx) => noteFailing(tx, lane, now)),
      (error, { orgId, webhookId }) =>
        ctx.log.error({ err: error, orgId, webhookId }, 'a failing webhook could not be noted; trying again later'),
    )
  } finally {
    await mailNotices(ctx, mailer)
  }
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

interface OrgNotices {
  readonly orgId: string
  readonly notices: readonly UnmailedNotice[]
}

/** Mails the notices, all of an organization in one mail. Those that nobody could get are tried again while they are true. */
async function mailNotices(ctx: Context, mailer: Mailer): Promise<void> {
  const byOrg = Map.groupBy(await listUnmailedNotices(ctx.db), ({ orgId }) => orgId)
  await eachInTurn(
    [...byOrg].map(([orgId, notices]) => ({ orgId, notices })),
    (of) => mailOrg(ctx, mailer, of),
    (error, { orgId }) =>
      ctx.log.error({ err: error, orgId }, 'mails about failing webhooks failed; trying again later'),
  )
}

async function mailOrg(ctx: Context, mailer: Mailer, { orgId, notices }: OrgNotices): Promise<void> {
  if (!(await mailAdmins(ctx, mailer, { orgId, notices }))) return
  await inTx(ctx, async (tx) => {
    // Notices are deleted with their webhooks, in any order.
    await shareWebhooks(tx, notices)
    for (const notice of notices) await markMailed(tx, notice)
  })
}

/** @returns False if no admin could get the mail now. */
async function mailAdmins(ctx: Context, mailer: Mailer, { orgId, notices }: OrgNotices): Promise<boolean> {
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
  return sent > 0
}
