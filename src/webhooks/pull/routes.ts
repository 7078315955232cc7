import { orgAndSite } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { acknowledgeMessages, pullMessages } from './pull-messages.ts'
import { AckBody, AckReply, PullQuery, PulledReply, presentPulled } from './wire.ts'

const tag = { org: 'Orgs Webhooks', site: 'Sites Webhooks' } as const
const params = { webhook_id: Uuid }
const DEFAULT_LIMIT = 100

/** Messages of webhooks of the type `pull`, for receivers that can't be called. */
export const pullOperations: Operation[] = [
  operation({
    id: { org: 'pullOrgWebhookMessages', site: 'pullSiteWebhookMessages' },
    summary: {
      org: 'Get the messages of a webhook of an organization that its receiver fetches',
      site: 'Get the messages of a webhook of a site that its receiver fetches',
    },
    method: 'GET',
    tag,
    at: orgAndSite('/webhooks/:webhook_id/messages', { needs: 'read' }),
    params,
    query: PullQuery,
    reply: PulledReply,
    run: async (ctx, { scope, params: { webhook_id: id }, query }) => {
      const { cursor = '0', limit = DEFAULT_LIMIT } = query
      return presentPulled(await pullMessages(ctx, scope, { id, cursor: BigInt(cursor), limit }))
    },
  }),
  operation({
    id: { org: 'ackOrgWebhookMessages', site: 'ackSiteWebhookMessages' },
    summary: {
      org: 'Acknowledge messages of a webhook of an organization that its receiver has fetched',
      site: 'Acknowledge messages of a webhook of a site that its receiver has fetched',
    },
    method: 'POST',
    tag,
    at: orgAndSite('/webhooks/:webhook_id/messages/ack', { needs: 'write' }),
    params,
    body: AckBody,
    reply: AckReply,
    run: async (ctx, { scope, params: { webhook_id: id }, body: { cursor } }) => ({
      acknowledged: await acknowledgeMessages(ctx, scope, { id, cursor: BigInt(cursor) }),
    }),
  }),
].flat()
