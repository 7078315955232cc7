import { useQueries } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { type DeviceType, deviceTypes } from '../../devices/device.ts'
import type { Choice } from '../../display/forms/choice-list.tsx'

/** Names that select a version of each model. */
const channels: readonly Choice[] = [
  { value: 'latest', label: 'Latest of each model' },
  { value: 'stable', label: 'Latest of the stable channel' },
  { value: 'beta', label: 'Latest of the beta channel' },
  { value: 'alpha', label: 'Latest of the alpha channel' },
]

/** Returns the channels, and the versions of the catalogue for devices of a type, or for all, with their models. */
export function useCatalog(orgId: string, type: DeviceType | undefined): readonly Choice[] {
  const { api } = useServer()
  const types = type === undefined ? (Object.keys(deviceTypes) as DeviceType[]) : [type]
  const images = useQueries({
    queries: types.map((one) => ({
      queryKey: ['firmware versions', orgId, one],
      queryFn: () =>
        answerOf(
          api.GET('/api/v1/orgs/{org_id}/devices/versions', {
            params: { path: { org_id: orgId }, query: { type: one } },
          }),
        ),
      staleTime: 60_000,
    })),
    combine: (results) => results.flatMap(({ data }) => data ?? []),
  })
  const byVersion = Map.groupBy(images, ({ version }) => version)
  const versions = [...byVersion].map(([version, some]) => {
    const models = [...new Set(some.map(({ model }) => model))]
    const shown =
      models.length > 3 ? `${models.slice(0, 3).join(', ')} and ${models.length - 3} more` : models.join(', ')
    return { value: version, label: `${version} (${shown})` }
  })
  return [...channels, ...versions.toSorted((a, b) => b.value.localeCompare(a.value, 'en', { numeric: true }))]
}
