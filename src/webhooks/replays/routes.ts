import { orgAndSite } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { addMs } from '../../platform/time/clock.ts'
import { notFound } from '../../platform/errors.ts'
import { rateLimitOf } from '../delivery-options.ts'
import { replayMessages } from './replay-messages.ts'
import type { WebhookLimits } from '../limits/limits.ts'
import { findActivity } from '../health/store.ts'
import { listParkedMessages } from './store-parked.ts'
import { getWebhook } from '../store.ts'
import { isAnySent } from '../topics.ts'
import {
  ParkedMessageReply,
  ReplayBody,
  ReplayReply,
  WebhookHealthReply,
  parseReplay,
  presentHealth,
  presentParked,
  presentReplayed,
} from './wire.ts'

const tag = { org: 'Orgs Webhooks', site: 'Sites Webhooks' } as const
const params = { webhook_id: Uuid }
const HOUR_MS = 3600e3

/** The health of a webhook, and the messages that it did not accept. */
export function replayOperations(limits: WebhookLimits): Operation[] {
  return [
    operation({
      id: { org: 'getOrgWebhookHealth', site: 'getSiteWebhookHealth' },
      summary: {
        org: 'Get the health of a webhook of an organization',
        site: 'Get the health of a webhook of a site',
      },
      method: 'GET',
      tag,
      at: orgAndSite('/webhooks/:webhook_id/health', { needs: 'read' }),
      params,
      reply: WebhookHealthReply,
      run: async (ctx, { scope, params: { webhook_id: id } }) => {
        const { doc, topics, ...webhook } = await getWebhook(ctx.db, scope, id)
        const now = ctx.clock.now()
        const activity = await findActivity(ctx.db, scope, { webhookId: id, since: addMs(now, -HOUR_MS) })
        if (activity === undefined) throw notFound(id)
        const standing = topics.length === 0 ? 'none' : isAnySent(topics) ? 'sent' : 'unsent'
        const facts = { topics: standing, isLimited: rateLimitOf(doc) !== null } as const
        return presentHealth({ ...webhook, ...facts, now }, activity)
      },
    }),
    listOperation({
      id: { org: 'listOrgWebhookParkedMessages', site: 'listSiteWebhookParkedMessages' },
      summary: {
        org: 'List the messages that a webhook of an organization did not take',
        site: 'List the messages that a webhook of a site did not take',
      },
      tag,
      at: orgAndSite('/webhooks/:webhook_id/parked', { needs: 'read' }),
      params,
      item: ParkedMessageReply,
      run: async (ctx, { scope, params: { webhook_id: id }, page }) => {
        await getWebhook(ctx.db, scope, id)
        return presentPage(await listParkedMessages(ctx.db, scope, id, page), presentParked)
      },
    }),
    operation({
      id: { org: 'replayOrgWebhookMessages', site: 'replaySiteWebhookMessages' },
      summary: {
        org: 'Send messages of a webhook of an organization again',
        site: 'Send messages of a webhook of a site again',
      },
      method: 'POST',
      tag,
      at: orgAndSite('/webhooks/:webhook_id/replay', { needs: 'write' }),
      params,
      body: ReplayBody,
      reply: ReplayReply,
      run: async (ctx, { scope, params: { webhook_id: id }, body }) =>
        presentReplayed(await replayMessages(ctx, scope, { id, limits, ...parseReplay(body, ctx.clock.now()) })),
    }),
  ].flat()
}
