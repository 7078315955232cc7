import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'
import type { Choice } from '../display/forms/choice-list.tsx'

/** Returns the values that devices have, with the number of devices. */
export function useValues(orgId: string, distinct: 'model' | 'version'): readonly Choice[] {
  const { api } = useServer()
  const { data } = useQuery({
    queryKey: ['device values', orgId, distinct],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/inventory/count', {
          params: { path: { org_id: orgId }, query: { distinct, type: 'all' } },
        }),
      ),
    staleTime: 60_000,
  })
  return (data?.results ?? []).flatMap((result) => {
    const value: unknown = result[distinct]
    return typeof value === 'string' && value !== '' ? [{ value, label: `${value} (${result.count})` }] : []
  })
}
