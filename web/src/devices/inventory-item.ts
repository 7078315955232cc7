import { queryOptions } from '@tanstack/react-query'
import { type Api, answerOf } from '../api/client.ts'

/** Reads a device in the inventory; null if the organization does not have it. */
export function inventoryItemQuery(api: Api, orgId: string, mac: string) {
  return queryOptions({
    queryKey: ['inventory item', orgId, mac],
    queryFn: async () => {
      const params = { path: { org_id: orgId }, query: { mac, vc: true } }
      const [item = null] = await answerOf(api.GET('/api/v1/orgs/{org_id}/inventory', { params }))
      return item
    },
  })
}
