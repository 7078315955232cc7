import { type Api, type Page, type Schemas, answerOf, pageOf } from '../api/client.ts'
import { DEFAULT_PERIOD, type DeliverySearch } from './delivery-search.ts'
import type { Health, ParkedMessage, Webhook, WebhookFilter, WebhookPlace } from './webhook.ts'

export type WebhookBody = Schemas['WebhookUpdate']
export type Replay = Schemas['WebhookReplay']

const ORG = '/api/v1/orgs/{org_id}/webhooks'
const SITE = '/api/v1/sites/{site_id}/webhooks'

/** The operations of the webhooks of a place. Those of sites are twins of those of organizations. */
export function webhookCalls(api: Api, { orgId, siteId }: WebhookPlace) {
  const under = <Rest extends string>(rest: Rest) =>
    `${siteId === undefined ? ORG : SITE}${rest}` as `${typeof ORG}${Rest}`
  const place = { org_id: orgId, ...(siteId !== undefined && { site_id: siteId }) }
  const pathOf = (id: string) => ({ ...place, webhook_id: id })
  return {
    list: (page: number, limit: number, filter: WebhookFilter): Promise<Page<Webhook>> =>
      pageOf(api.GET(under(''), { params: { path: place, query: { page, limit, ...filter } } })),
    get: (id: string): Promise<Webhook> => answerOf(api.GET(under('/{webhook_id}'), { params: { path: pathOf(id) } })),
    create: (body: Schemas['WebhookCreate']): Promise<Webhook> =>
      answerOf(api.POST(under(''), { params: { path: place }, body })),
    update: (id: string, body: WebhookBody): Promise<Webhook> =>
      answerOf(api.PUT(under('/{webhook_id}'), { params: { path: pathOf(id) }, body })),
    remove: (id: string) => answerOf(api.DELETE(under('/{webhook_id}'), { params: { path: pathOf(id) } })),
    ping: (id: string) => answerOf(api.POST(under('/{webhook_id}/ping'), { params: { path: pathOf(id) } })),
    health: (id: string): Promise<Health> =>
      answerOf(api.GET(under('/{webhook_id}/health'), { params: { path: pathOf(id) } })),
    deliveries: (id: string, { status, topic, period = DEFAULT_PERIOD }: DeliverySearch, limit: number) =>
      answerOf(
        api.GET(under('/{webhook_id}/events/search'), {
          params: {
            path: pathOf(id),
            query: {
              duration: period,
              limit,
              ...(status !== undefined && { status }),
              ...(topic !== undefined && { topic }),
            },
          },
        }),
      ),
    parked: (id: string, limit: number): Promise<Page<ParkedMessage>> =>
      pageOf(api.GET(under('/{webhook_id}/parked'), { params: { path: pathOf(id), query: { limit } } })),
    replay: (id: string, body: Replay) =>
      answerOf(api.POST(under('/{webhook_id}/replay'), { params: { path: pathOf(id) }, body })),
  }
}
