import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'

/** The interval at which a visible overview is read again. */
export const OVERVIEW_MS = 10_000

type Distinct = 'status' | 'version' | 'site_id' | 'model'

interface CountFilters {
  readonly type?: 'ap' | 'switch' | 'gateway'
  readonly status?: 'disconnected'
  /** Absent: all sites. */
  readonly siteId?: string | undefined
}

/** The place that a dashboard shows. */
export interface DashboardPlace {
  readonly orgId: string
  /** Absent: the whole organization. */
  readonly siteId?: string
}

/** Counts the devices of the organization by the values of a field; those without one count under the empty text. */
export function useCounts(orgId: string, distinct: Distinct, { type, status, siteId }: CountFilters = {}) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['counts', orgId, distinct, type, status, siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/inventory/count', {
          params: {
            path: { org_id: orgId },
            query: {
              distinct,
              limit: 1000,
              type: type ?? 'all',
              ...(status !== undefined && { status }),
              ...(siteId !== undefined && { site_id: siteId }),
            },
          },
        }),
      ),
    refetchInterval: OVERVIEW_MS,
    select: ({ results }): ReadonlyMap<string, number> =>
      new Map(
        results.map((result) => {
          const value: unknown = result[distinct]
          return [typeof value === 'string' ? value : '', result.count]
        }),
      ),
  })
}

export function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}
