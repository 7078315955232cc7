import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import type { Choice } from '../../display/forms/choices.ts'
import { type LoadFailure, failureOf } from '../../display/layout/load-failure.ts'
import type { Channel } from './draft.ts'

export const present: Choice = { value: 'current', label: 'The present version' }

/** Names that select a version of a service. */
const names: readonly Choice[] = [
  present,
  { value: 'default', label: 'The default of the channel' },
  { value: 'latest', label: 'The latest of the channel' },
]

interface Packages {
  /** The services that have packages in the channel, with the versions that an upgrade may install. */
  readonly services: ReadonlyMap<string, readonly Choice[]>
  readonly failure: LoadFailure | null
}

export function usePackages(orgId: string, channel: Channel): Packages {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['package versions', orgId, channel],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/mxedges/versions', {
          params: { path: { org_id: orgId }, query: { channel } },
        }),
      ),
    staleTime: 60_000,
  })
  const byService = Map.groupBy(query.data ?? [], (entry) => entry.package)
  const services = new Map(
    [...byService].map(([service, entries]) => {
      const versions = [...new Set(entries.map(({ version }) => version))]
      return [service, [...names, ...versions.map((version) => ({ value: version, label: version }))]]
    }),
  )
  return { services, failure: failureOf([query]) }
}
