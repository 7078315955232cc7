import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'
import type { LoadedChoices } from '../display/forms/choices.ts'
import { failureOf } from '../display/layout/load-failure.ts'

/** Returns the values that devices have, at one site or at all, with the number of devices. */
export function useValues(orgId: string, distinct: 'model' | 'version', siteId?: string): LoadedChoices {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['device values', orgId, distinct, siteId ?? 'all'],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/inventory/count', {
          params: {
            path: { org_id: orgId },
            query: { distinct, type: 'all', ...(siteId !== undefined && { site_id: siteId }) },
          },
        }),
      ),
    staleTime: 60_000,
  })
  const choices = query.data?.results.flatMap((result) => {
    const value: unknown = result[distinct]
    return typeof value === 'string' && value !== '' ? [{ value, label: `${value} (${result.count})` }] : []
  })
  return { choices, failure: failureOf([query]) }
}
