import { Type } from 'typebox'
import { orgAndSite, self } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { revealTo } from '../orgs/secrets/reveal.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import { createWebhook } from './create-webhook.ts'
import { deleteWebhook } from './delete-webhook.ts'
import type { WebhookLimits } from './limits/limits.ts'
import { pingWebhook } from './pings/ping-webhook.ts'
import { deliveryOperations } from './records/routes.ts'
import { keyOperations } from './signing/routes.ts'
import { pullOperations } from './pull/routes.ts'
import { replayOperations } from './replays/routes.ts'
import { getWebhook, listWebhooks } from './store.ts'
import { messageSchemaOf, webhookTopics } from './topics.ts'
import { updateWebhook } from './update-webhook.ts'
import { webhookOf } from './webhook.ts'
import {
  CreateWebhookBody,
  UpdateWebhookBody,
  WebhookReply,
  WebhooksQuery,
  WebhookTopicsReply,
  parseWebhooks,
  presentTopic,
  presentWebhook,
} from './wire.ts'

const tag = { org: 'Orgs Webhooks', site: 'Sites Webhooks' } as const
const single = '/webhooks/:webhook_id'
const params = { webhook_id: Uuid }

/** Webhooks of organizations and of sites, and their topics. Source: spec, "Webhooks", 16 to 18. */
export function webhookOperations(outbound: OutboundHttp, limits: WebhookLimits): Operation[] {
  return [
    ...topicOperations,
    ...collectionOperations(outbound, limits),
    ...singleOperations(outbound),
    ...deliveryOperations,
    ...keyOperations,
    ...replayOperations(limits),
    ...pullOperations,
  ]
}

/** Source: contract, Constants Definitions. */
const topicOperations: Operation[] = [
  operation({
    id: 'listWebhookTopics',
    summary: 'List the topics that webhooks can subscribe to',
    method: 'GET',
    tag: 'Constants',
    at: self('/const/webhook_topics'),
    reply: WebhookTopicsReply,
    run: () => webhookTopics.map(presentTopic),
  }),
  operation({
    id: 'getWebhookTopicSchema',
    summary: "Get the JSON Schema of a topic's messages",
    method: 'GET',
    tag: 'Constants',
    at: self('/const/webhook_topics/:topic/schema'),
    params: { topic: Type.String({ maxLength: 100 }) },
    reply: Type.Record(Type.String(), Type.Unknown()),
    run: (_ctx, { params: { topic } }) => ({ ...messageSchemaOf(topic) }),
  }),
].flat()

function collectionOperations(outbound: OutboundHttp, limits: WebhookLimits): Operation[] {
  return [
    listOperation({
      id: { org: 'listOrgWebhooks', site: 'listSiteWebhooks' },
      summary: {
        org: 'List the webhooks of an organization',
        site: 'List the webhooks of a site',
      },
      tag,
      at: orgAndSite('/webhooks', { needs: 'read' }),
      item: WebhookReply,
      query: WebhooksQuery,
      run: async (ctx, { scope, caller, query, page }) => {
        const conditions = parseWebhooks(query)
        const found = await listWebhooks(ctx.db, scope, { conditions, now: ctx.clock.now(), page })
        const reveal = await revealTo(ctx, caller, scope)
        return presentPage(found, (row) => presentWebhook(webhookOf(ctx.secrets, row), reveal))
      },
    }),
    operation({
      id: { org: 'createOrgWebhook', site: 'createSiteWebhook' },
      summary: {
        org: 'Create a webhook of an organization',
        site: 'Create a webhook of a site',
      },
      method: 'POST',
      tag,
      at: orgAndSite('/webhooks', { needs: 'write' }),
      body: CreateWebhookBody,
      reply: WebhookReply,
      run: async (ctx, { scope, caller, body }) => {
        const webhook = await createWebhook(ctx, scope, { body, outbound, limits })
        return presentWebhook(webhook, await revealTo(ctx, caller, scope, body))
      },
    }),
  ].flat()
}

function singleOperations(outbound: OutboundHttp): Operation[] {
  return [
    operation({
      id: { org: 'getOrgWebhook', site: 'getSiteWebhook' },
      summary: {
        org: 'Get a webhook of an organization',
        site: 'Get a webhook of a site',
      },
      method: 'GET',
      tag,
      at: orgAndSite(single, { needs: 'read' }),
      params,
      reply: WebhookReply,
      run: async (ctx, { scope, caller, params: { webhook_id: id } }) => {
        const row = await getWebhook(ctx.db, scope, id)
        return presentWebhook(webhookOf(ctx.secrets, row), await revealTo(ctx, caller, scope))
      },
    }),
    operation({
      id: { org: 'updateOrgWebhook', site: 'updateSiteWebhook' },
      summary: {
        org: 'Update a webhook of an organization',
        site: 'Update a webhook of a site',
      },
      method: 'PUT',
      tag,
      at: orgAndSite(single, { needs: 'write' }),
      params,
      body: UpdateWebhookBody,
      reply: WebhookReply,
      run: async (ctx, { scope, caller, params: { webhook_id: id }, body }) => {
        const reveal = await revealTo(ctx, caller, scope, body)
        const webhook = await updateWebhook(ctx, scope, { id, body, isBlind: reveal !== 'all', outbound })
        return presentWebhook(webhook, reveal)
      },
    }),
    operation({
      id: { org: 'deleteOrgWebhook', site: 'deleteSiteWebhook' },
      summary: {
        org: 'Delete a webhook of an organization',
        site: 'Delete a webhook of a site',
      },
      method: 'DELETE',
      tag,
      at: orgAndSite(single, { needs: 'write' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params: { webhook_id: id } }) => deleteWebhook(ctx, scope, id),
    }),
    operation({
      id: { org: 'pingOrgWebhook', site: 'pingSiteWebhook' },
      summary: {
        org: 'Send a test message to a webhook of an organization',
        site: 'Send a test message to a webhook of a site',
      },
      method: 'POST',
      tag,
      at: orgAndSite(`${single}/ping`, { needs: 'write' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params: { webhook_id: id } }) => pingWebhook(ctx, scope, id),
    }),
  ].flat()
}
