import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type PlaceKind, orgPlaces, sitePlaces } from '../http/places.ts'
import { parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { revealsSecrets } from '../orgs/reveal.ts'
import type { Context } from '../platform/context.ts'
import type { OutboundHttp } from '../platform/outbound-http.ts'
import { createWebhook } from './create-webhook.ts'
import { deleteWebhook } from './delete-webhook.ts'
import { pingWebhook } from './ping-webhook.ts'
import { enterWebhook, webhookParams } from './place.ts'
import { webhookConstRoutes } from './routes-const.ts'
import { deliveryRoutes } from './routes-deliveries.ts'
import { getWebhook, listWebhooks } from './store.ts'
import { updateWebhook } from './update-webhook.ts'
import { webhookOf } from './webhook.ts'
import { CreateWebhookBody, ListQuery, UpdateWebhookBody, WebhookReply, presentWebhook } from './wire.ts'

/** Webhooks of organizations and of sites. Source: spec, "Webhooks", 16 to 18. */
export function webhookRoutes(ctx: Context, outbound: OutboundHttp): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(webhookConstRoutes)
    for (const kind of [orgPlaces, sitePlaces]) {
      await http.register(collectionRoutes(ctx, outbound, kind), { prefix: `${kind.prefix}/webhooks` })
      await http.register(singleRoutes(ctx, outbound, kind), { prefix: `${kind.prefix}/webhooks/:webhook_id` })
      await http.register(deliveryRoutes(ctx, kind), { prefix: `${kind.prefix}/webhooks/:webhook_id` })
    }
  }
}

function collectionRoutes(ctx: Context, outbound: OutboundHttp, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const params = Type.Object({ [kind.param]: Uuid })
  const tags = [`${kind.noun}s Webhooks`]
  return async (http) => {
    http.get(
      '',
      {
        schema: {
          operationId: `list${kind.noun}Webhooks`,
          tags,
          params,
          querystring: ListQuery,
          response: { 200: Type.Array(WebhookReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const { scope, siteId } = await kind.enter(ctx, caller, { id: params[kind.param] ?? '', needs: 'read' })
        const page = parsePage(query)
        const found = await listWebhooks(ctx.db, scope, { siteId, page })
        setPageHeaders(reply, page, found)
        const withSecrets = await revealsSecrets(ctx, caller, scope)
        return reply.send(found.rows.map((row) => presentWebhook(webhookOf(ctx.secrets, row), withSecrets)))
      },
    )

    http.post(
      '',
      {
        schema: {
          operationId: `create${kind.noun}Webhook`,
          tags,
          params,
          body: CreateWebhookBody,
          response: { 200: WebhookReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const { scope, siteId } = await kind.enter(ctx, caller, { id: params[kind.param] ?? '', needs: 'write' })
        const webhook = await createWebhook(ctx, scope, { siteId, body, outbound })
        return reply.send(presentWebhook(webhook, await revealsSecrets(ctx, caller, scope)))
      },
    )
  }
}

function singleRoutes(ctx: Context, outbound: OutboundHttp, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const params = webhookParams(kind)
  const tags = [`${kind.noun}s Webhooks`]
  return async (http) => {
    http.get(
      '',
      { schema: { operationId: `get${kind.noun}Webhook`, tags, params, response: { 200: WebhookReply } } },
      async ({ caller, params }, reply) => {
        const { scope, key } = await enterWebhook(ctx, kind, { caller, params, needs: 'read' })
        const row = await getWebhook(ctx.db, scope, key)
        return reply.send(presentWebhook(webhookOf(ctx.secrets, row), await revealsSecrets(ctx, caller, scope)))
      },
    )

    http.put(
      '',
      {
        schema: {
          operationId: `update${kind.noun}Webhook`,
          tags,
          params,
          body: UpdateWebhookBody,
          response: { 200: WebhookReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const { scope, key } = await enterWebhook(ctx, kind, { caller, params, needs: 'write' })
        const webhook = await updateWebhook(ctx, scope, { key, body, outbound })
        return reply.send(presentWebhook(webhook, await revealsSecrets(ctx, caller, scope)))
      },
    )

    http.delete(
      '',
      { schema: { operationId: `delete${kind.noun}Webhook`, tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const { scope, key } = await enterWebhook(ctx, kind, { caller, params, needs: 'write' })
        await deleteWebhook(ctx, scope, key)
        return reply.send({})
      },
    )

    http.post(
      '/ping',
      { schema: { operationId: `ping${kind.noun}Webhook`, tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const { scope, key } = await enterWebhook(ctx, kind, { caller, params, needs: 'write' })
        await pingWebhook(ctx, scope, key)
        return reply.send({})
      },
    )
  }
}
