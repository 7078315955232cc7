import { orgAndSite } from '../http/at.ts'
import { countOperation, searchOperation } from '../http/list-operation.ts'
import { presentPage } from '../http/lists.ts'
import type { Operation } from '../http/operation.ts'
import { Uuid } from '../http/schemas.ts'
import { getWebhook } from './store.ts'
import { countDeliveries, searchDeliveries } from './store-deliveries.ts'
import {
  DeliveryCountQuery,
  DeliveryReply,
  DeliverySearchQuery,
  parseDeliveryCount,
  parseDeliverySearch,
  presentDelivery,
} from './wire-deliveries.ts'

const tag = { org: 'Orgs Webhooks', site: 'Sites Webhooks' }
const params = { webhook_id: Uuid }

/** The delivery records of a webhook, under the path of the webhook. Source: contract, Webhooks. */
export const deliveryOperations: Operation[] = [
  searchOperation({
    id: { org: 'searchOrgWebhooksDeliveries', site: 'searchSiteWebhooksDeliveries' },
    tag,
    at: orgAndSite('/webhooks/:webhook_id/events/search', { needs: 'read' }),
    params,
    query: DeliverySearchQuery,
    item: DeliveryReply,
    parse: parseDeliverySearch,
    run: async (ctx, { scope, params: { webhook_id: id }, search }) => {
      await getWebhook(ctx.db, scope, id)
      return presentPage(await searchDeliveries(ctx.db, scope, { ...search, webhookId: id }), presentDelivery)
    },
  }),
  countOperation({
    id: { org: 'countOrgWebhooksDeliveries', site: 'countSiteWebhooksDeliveries' },
    tag,
    at: orgAndSite('/webhooks/:webhook_id/events/count', { needs: 'read' }),
    params,
    query: DeliveryCountQuery,
    parse: parseDeliveryCount,
    run: async (ctx, { scope, params: { webhook_id: id }, search: count }) => {
      await getWebhook(ctx.db, scope, id)
      return countDeliveries(ctx.db, scope, { ...count, webhookId: id })
    },
  }),
].flat()
