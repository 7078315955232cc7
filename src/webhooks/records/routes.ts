import { orgAndSite } from '../../http/at.ts'
import { countOf, searchOf } from '../../http/lists/declare-search.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import type { Operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { getWebhook } from '../store.ts'
import { deliveryCounts, deliveryFilters, deliverySorts } from './delivery-filters.ts'
import { countDeliveries, searchDeliveries } from './store.ts'
import { DeliveryReply, presentDelivery } from './wire.ts'

const tag = { org: 'Orgs Webhooks', site: 'Sites Webhooks' } as const
const params = { webhook_id: Uuid }

/** The delivery records of a webhook, under the path of the webhook. Source: contract, Webhooks. */
export const deliveryOperations: Operation[] = [
  searchOperation({
    id: { org: 'searchOrgWebhooksDeliveries', site: 'searchSiteWebhooksDeliveries' },
    summary: {
      org: 'Search the deliveries of a webhook of an organization',
      site: 'Search the deliveries of a webhook of a site',
    },
    tag,
    at: orgAndSite('/webhooks/:webhook_id/events/search', { needs: 'read' }),
    params,
    ...searchOf({ filters: deliveryFilters, sorts: deliverySorts, usual: '-timestamp' }),
    item: DeliveryReply,
    run: async (ctx, { scope, params: { webhook_id: id }, search }) => {
      await getWebhook(ctx.db, scope, id)
      return presentPage(await searchDeliveries(ctx.db, scope, { ...search, webhookId: id }), presentDelivery)
    },
  }),
  countOperation({
    id: { org: 'countOrgWebhooksDeliveries', site: 'countSiteWebhooksDeliveries' },
    summary: {
      org: 'Count the deliveries of a webhook of an organization by a field',
      site: 'Count the deliveries of a webhook of a site by a field',
    },
    tag,
    at: orgAndSite('/webhooks/:webhook_id/events/count', { needs: 'read' }),
    params,
    ...countOf({ filters: deliveryFilters, counts: deliveryCounts, usual: 'status' }),
    run: async (ctx, { scope, params: { webhook_id: id }, search: count }) => {
      await getWebhook(ctx.db, scope, id)
      return countDeliveries(ctx.db, scope, { ...count, webhookId: id })
    },
  }),
].flat()
