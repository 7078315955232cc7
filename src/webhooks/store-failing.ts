import { type Reader } from '../platform/db.ts'
import { sql } from 'kysely'

export interface FailingWebhook {
  readonly orgId: string
  readonly id: string
  readonly siteId: string | null
  readonly name: string
}

/** Lists enabled webhooks whose last delivery failed and that have messages from before `before`. */
export async function listFailingWebhooks(reader: Reader, before: Date): Promise<FailingWebhook[]> {
  const { rows } = await sql<FailingWebhook>`
    select webhook.org_id, webhook.id, webhook.site_id, coalesce(webhook.doc ->> 'name', '') as name
    from webhook_lane lane
    join webhook on webhook.org_id = lane.org_id and webhook.id = lane.webhook_id
    where lane.failures > 0 and lane.pending > 0 and webhook.enabled and exists (
      select from webhook_message message
      where message.org_id = lane.org_id and message.webhook_id = lane.webhook_id and message.created_at < ${before})
    order by 1, 2
  `.execute(reader)
  return rows
}
