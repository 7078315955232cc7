import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { PlaceKind } from '../http/places.ts'
import { CountReply, presentCounts, presentSearch } from '../http/search.ts'
import type { Context } from '../platform/context.ts'
import { enterWebhook, webhookParams } from './place.ts'
import { getWebhook } from './store.ts'
import { countDeliveries, searchDeliveries } from './store-deliveries.ts'
import {
  DeliveryCountQuery,
  DeliverySearchQuery,
  DeliverySearchReply,
  parseDeliveryCount,
  parseDeliverySearch,
  presentDelivery,
} from './wire-deliveries.ts'

/** The delivery records of a webhook, under the path of the webhook. Source: contract, Webhooks. */
export function deliveryRoutes(ctx: Context, kind: PlaceKind): FastifyPluginAsyncTypebox {
  const params = webhookParams(kind)
  const tags = [`${kind.noun}s Webhooks`]
  return async (http) => {
    http.get(
      '/events/search',
      {
        schema: {
          operationId: `search${kind.noun}WebhooksDeliveries`,
          tags,
          params,
          querystring: DeliverySearchQuery,
          response: { 200: DeliverySearchReply },
        },
      },
      async ({ caller, params, query, url }, reply) => {
        const { scope, key } = await enterWebhook(ctx, kind, { caller, params, needs: 'read' })
        const search = parseDeliverySearch(query, ctx.clock.now())
        await getWebhook(ctx.db, scope, key)
        const found = await searchDeliveries(ctx.db, scope, { ...search, webhookId: key.id })
        return reply.send(presentSearch(found, presentDelivery, { search, url }))
      },
    )

    http.get(
      '/events/count',
      {
        schema: {
          operationId: `count${kind.noun}WebhooksDeliveries`,
          tags,
          params,
          querystring: DeliveryCountQuery,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }, reply) => {
        const { scope, key } = await enterWebhook(ctx, kind, { caller, params, needs: 'read' })
        const count = parseDeliveryCount(query, ctx.clock.now())
        await getWebhook(ctx.db, scope, key)
        const counts = await countDeliveries(ctx.db, scope, { ...count, webhookId: key.id })
        return reply.send(presentCounts(counts, count))
      },
    )
  }
}
