import { useInfiniteQuery } from '@tanstack/react-query'
import { pageOf, useServer } from '../api/client.ts'

/** How often a list looks for new upgrades. */
const LOOK_MS = 10_000

/** The ids of the upgrades of an organization, the latest first, by pages of `limit`. */
export function useUpgrades(orgId: string, limit: number) {
  const { api } = useServer()
  return useInfiniteQuery({
    queryKey: ['upgrades', orgId, limit],
    queryFn: ({ pageParam }) =>
      pageOf(
        api.GET('/api/v1/orgs/{org_id}/devices/upgrade', {
          params: { path: { org_id: orgId }, query: { limit, page: pageParam } },
        }),
      ),
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * limit < total ? pages.length + 1 : undefined),
    refetchInterval: LOOK_MS,
  })
}
