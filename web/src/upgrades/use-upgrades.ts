import { queryOptions, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { type Api, answerOf, pageOf, useServer } from '../api/client.ts'
import { type UpgradeKind, upgradeKinds } from './overview.ts'
import { refetchType, useLiveUpgrades } from './use-live-upgrades.ts'

interface Shown {
  /** Of one page. */
  readonly limit: number
  /** Absent: upgrades of all kinds. */
  readonly kind?: UpgradeKind | undefined
  /** Only those that wait, such as for an approval. */
  readonly held?: true | undefined
}

/** The upgrades of an organization, the latest first, by pages. They are kept up to date. */
export function useUpgrades(orgId: string, shown: Shown) {
  const queries = useQueryClient()
  useLiveUpgrades(`/orgs/${orgId}`, shown.kind === undefined ? upgradeKinds : [shown.kind], {
    onChange: () => true,
    read: () => queries.invalidateQueries({ queryKey: ['upgrades', orgId], refetchType: refetchType() }),
  })
  return useUpgradePages(orgId, shown)
}

/** The same beside a list that useUpgrades() keeps up to date. */
export function useUpgradePages(orgId: string, { limit, kind, held }: Shown) {
  const { api } = useServer()
  const queries = useQueryClient()
  return useInfiniteQuery({
    queryKey: ['upgrades', orgId, limit, kind ?? 'all', held ?? 'all'],
    queryFn: async ({ pageParam }) => {
      const page = await pageOf(
        api.GET('/api/v1/orgs/{org_id}/upgrades', {
          params: {
            path: { org_id: orgId },
            query: { limit, page: pageParam, ...(kind !== undefined && { kind }), ...(held && { held }) },
          },
        }),
      )
      for (const row of page.rows) queries.setQueryData(kindQuery(api, orgId, row.id).queryKey, row.kind)
      return page
    },
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * limit < total ? pages.length + 1 : undefined),
  })
}

/** The kind of an upgrade, which never changes. A page that is opened from the list knows it. */
export function kindQuery(api: Api, orgId: string, upgradeId: string) {
  return queryOptions({
    queryKey: ['upgrade kind', orgId, upgradeId],
    queryFn: async () => {
      const params = { path: { org_id: orgId, upgrade_id: upgradeId } }
      return (await answerOf(api.GET('/api/v1/orgs/{org_id}/upgrades/{upgrade_id}', { params }))).kind
    },
    staleTime: Infinity,
  })
}
