import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'

export interface NamedWebhook {
  readonly orgId: string
  readonly id: string
  readonly siteId: string | null
  readonly name: string
}

/** A webhook whose receiver accepts nothing. */
export interface FailingWebhook extends NamedWebhook {
  /** True if the receiver fetches the messages. */
  readonly isPulled: boolean
}

/**
 * Lists enabled webhooks that have messages from before `before`, whose last delivery failed, and whose receivers have accepted
 * nothing since then. An attempt whose answer requests a pause counts as no failure of the lane, but it has failed. Receivers that
 * fetch are listed when they have acknowledged nothing for long; see watchUnfetched().
 */
export async function listFailingWebhooks(reader: Reader, before: Date): Promise<FailingWebhook[]> {
  const ofLane = sql`delivery.org_id = lane.org_id and delivery.webhook_id = lane.webhook_id`
  const { rows } = await sql<FailingWebhook>`
    select webhook.org_id, webhook.id, webhook.site_id, coalesce(webhook.doc ->> 'name', '') as name, lane.pulled as is_pulled
    from webhook_lane lane
    join webhook on webhook.org_id = lane.org_id and webhook.id = lane.webhook_id
    where lane.pending > 0 and webhook.enabled and case when lane.pulled then lane.failing_since is not null else exists (
        select from webhook_message message
        where message.org_id = lane.org_id and message.webhook_id = lane.webhook_id and message.due_at >= lane.due_from
          and message.created_at < ${before})
      and (lane.failures > 0 or (
        select delivery.status = 'failure' from webhook_delivery delivery
        where ${ofLane} and delivery.topic <> 'ping'
        order by delivery.created_at desc, delivery.id desc limit 1))
      and not exists (
        select from webhook_delivery delivery
        where ${ofLane} and delivery.status = 'success' and delivery.created_at >= ${before}) end
    order by 1, 2
  `.execute(reader)
  return rows
}

/** Lists webhooks that have dropped messages since `since`, because too many waited. */
export async function listOverflowingWebhooks(reader: Reader, since: Date): Promise<NamedWebhook[]> {
  const { rows } = await sql<NamedWebhook>`
    select webhook.org_id, webhook.id, webhook.site_id, coalesce(webhook.doc ->> 'name', '') as name
    from webhook_lane lane
    join webhook on webhook.org_id = lane.org_id and webhook.id = lane.webhook_id
    where lane.overflowed_at >= ${since}
    order by 1, 2
  `.execute(reader)
  return rows
}

/** Lists the enabled webhooks that show their receivers a certificate, with its PEM text. */
export async function listClientCertificates(reader: Reader): Promise<(NamedWebhook & { readonly cert: string })[]> {
  const { rows } = await sql<NamedWebhook & { cert: string }>`
    select org_id, id, site_id, coalesce(doc ->> 'name', '') as name, doc ->> 'client_cert' as cert
    from webhook where enabled and doc ? 'client_cert' and doc ->> 'client_cert' <> ''
    order by 1, 2
  `.execute(reader)
  return rows
}
