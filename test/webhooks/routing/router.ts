import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { onTestFinished } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { insertOutbox } from '../../../src/events/store.ts'
import type { TopicEvents } from '../../../src/events/topics.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { createWebhookCounters } from '../../../src/webhooks/metrics/counters.ts'
import { startRouteWorker } from '../../../src/webhooks/routing/route.worker.ts'
import type { Harness } from '../harness.ts'

/** The address of webhooks whose messages are not sent. */
export const url = 'http://127.0.0.1:1/'

/** Starts a router that runs until the end of the test. */
export function startRouter({ ctx }: Harness): ReturnType<typeof createWebhookCounters> {
  const counters = createWebhookCounters()
  const worker = startRouteWorker(ctx, counters)
  onTestFinished(() => worker.stop())
  return counters
}

/** Commits an event that contains its notes twice. */
export async function addEvent(
  { ctx }: Harness,
  { orgId }: OrgScope,
  notes: string,
  siteId: string | null = null,
): Promise<void> {
  const at = ctx.clock.now()
  const event: TopicEvents['audits'] = {
    id: uuidv7(),
    timestamp: at.getTime() / 1000,
    org_id: orgId,
    admin_id: null,
    admin_name: 'Ada',
    message: 'Update Site',
    src_ip: '',
    user_agent: null,
    before: { notes },
    after: { notes },
  }
  await inTx(ctx, (tx) => insertOutbox(tx, [{ orgId, siteId, topic: 'audits', event }], at))
}

export async function messagesOf({ ctx }: Harness, { orgId }: OrgScope): Promise<{ count: number; bytes: number }> {
  const { rows } = await sql<{ count: number; bytes: number }>`
    select count(*)::int as count, coalesce(sum(octet_length(body)), 0)::int as bytes
    from webhook_message where org_id = ${orgId}
  `.execute(ctx.db)
  return rows[0] ?? { count: 0, bytes: 0 }
}

export function outbox({ ctx }: Harness) {
  return ctx.db
    .selectFrom('webhookOutbox')
    .select(['orgId', 'topic', 'setAsideAt', 'setAsideReason', 'routedTo'])
    .orderBy('id')
    .execute()
}

/** Returns the writes of each transaction of the router, in order. */
export async function rounds({
  ctx,
}: Harness): Promise<readonly { readonly orgs: readonly string[]; readonly bytes: number }[]> {
  const { rows } = await sql<{ orgs: string[]; bytes: number }>`
    select array_agg(distinct org_id::text) as orgs, sum(octet_length(body))::int as bytes
    from webhook_message group by xmin::text::bigint order by xmin::text::bigint
  `.execute(ctx.db)
  return rows
}
