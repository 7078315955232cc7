import { queryOptions } from '@tanstack/react-query'
import { type Api, pageOf } from '../api/client.ts'

/** A plan shows devices only among this many of its site. */
export const MAX_DEVICES = 1000
/** Other people may be placing devices at the same time. */
const READ_AGAIN_MS = 15_000

/** The devices of a site with their places on its plans. */
export function siteDevicesQuery(api: Api, siteId: string) {
  return queryOptions({
    queryKey: ['site devices', siteId],
    queryFn: () =>
      pageOf(
        api.GET('/api/v1/sites/{site_id}/stats/devices', {
          params: { path: { site_id: siteId }, query: { type: 'all', limit: MAX_DEVICES } },
        }),
      ),
    refetchInterval: READ_AGAIN_MS,
  })
}
