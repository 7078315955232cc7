import { useInfiniteQuery } from '@tanstack/react-query'
import { pageOf, useServer } from '../api/client.ts'
import { useLiveUpgrades } from './use-live-upgrades.ts'

/**
 * The ids of the upgrades of an organization, the latest first, by pages of `limit`. Their records are kept up to date.
 */
export function useUpgrades(orgId: string, limit: number) {
  const { api } = useServer()
  useLiveUpgrades(orgId)
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
  })
}
