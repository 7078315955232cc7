import { systemScopeOf } from '../../access/scope.ts'
import { listAdminAddresses } from '../../accounts/admins/store-admin-addresses.ts'
import { consumeMailQuota } from '../../accounts/mail/mail-quota.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Reader, type Tx, inTx } from '../../platform/database/db.ts'
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
 * Notifies admins of webhooks that have failed for long, also because nobody fetches their messages, and disables those that have failed for the longest allowed time.
 * @throws Error if that failed for some webhooks; all others have had their turn then.
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
  if (disables(hours) && !lane.isPulled) await disableWebhook(tx, scope, { row, why: 'failing', at: now })
}

/**
 * Mails the notices, all of an address in one mail: an address may get only a few mails per hour, in however many organizations it
 * belongs to an admin. Those that nobody could get are tried again while they are true.
 */
async function mailNotices(ctx: Context, mailer: Mailer): Promise<void> {
  const mailed = new Set<UnmailedNotice>()
  for (const [to, notices] of await groupByAddress(ctx.db, await listUnmailedNotices(ctx.db)))
    if (await mailAddress(ctx, mailer, { to, notices })) for (const notice of notices) mailed.add(notice)
  await eachInTurn(
    [...Map.groupBy(mailed, ({ orgId }) => orgId)],
    ([, notices]) => inTx(ctx, (tx) => markAllMailed(tx, notices)),
    (error, [orgId]) =>
      ctx.log.error({ err: error, orgId }, 'mails about failing webhooks could not be recorded; sending them again'),
  )
}

/** Returns the notices for each address of an admin of their organizations, in their order. */
async function groupByAddress(
  reader: Reader,
  notices: readonly UnmailedNotice[],
): Promise<Map<string, UnmailedNotice[]>> {
  const orgsOf = new Map<string, Set<string>>()
  for (const orgId of new Set(notices.map((notice) => notice.orgId)))
    for (const to of await listAdminAddresses(reader, systemScopeOf('webhooks', { orgId, siteId: null })))
      orgsOf.set(to, (orgsOf.get(to) ?? new Set()).add(orgId))
  return new Map([...orgsOf].map(([to, orgIds]) => [to, notices.filter(({ orgId }) => orgIds.has(orgId))]))
}

/** @returns False if the address could not get the mail now. */
async function mailAddress(
  ctx: Context,
  mailer: Mailer,
  { to, notices }: { readonly to: string; readonly notices: readonly UnmailedNotice[] },
): Promise<boolean> {
  try {
    // Somebody may have named the addresses of others through their own identity provider.
    if (!(await inTx(ctx, (tx) => consumeMailQuota(tx, `webhooks ${to}`, ctx.clock.now())))) return false
    await mailer.send(noticeMail(to, notices, ctx.baseUrl))
    return true
  } catch (error) {
    const orgIds = [...new Set(notices.map(({ orgId }) => orgId))]
    ctx.log.warn({ err: error, orgIds }, 'could not send a mail about failing webhooks')
    return false
  }
}

async function markAllMailed(tx: Tx, notices: readonly UnmailedNotice[]): Promise<void> {
  // Notices are deleted with their webhooks, in any order.
  await shareWebhooks(tx, notices)
  for (const notice of notices) await markMailed(tx, notice)
}
