import { useQueries } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { type DeviceType, deviceTypes } from '../../devices/device.ts'
import type { Choice, LoadedChoices } from '../../display/forms/choices.ts'
import { failureOf } from '../../display/layout/load-failure.ts'
import { channels } from './draft.ts'
import { keysOf } from '../../display/keys-of.ts'

/** Names that select a version of each model. */
const channelChoices: readonly Choice[] = [
  { value: 'stable', label: 'Latest of the stable channel' },
  { value: 'beta', label: 'Latest of the beta channel' },
  { value: 'alpha', label: 'Latest of the alpha channel' },
]

const deviceChoices: readonly Choice[] = [{ value: 'latest', label: 'Latest of each model' }, ...channelChoices]

/** Returns the channels, and the versions of the catalog for devices of a type, or for all, with their models. */
export function useDeviceCatalog(orgId: string, type: DeviceType | undefined): LoadedChoices {
  const { api } = useServer()
  const types = type === undefined ? keysOf(deviceTypes) : [type]
  const catalogs = useQueries({
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
  })
  const images = catalogs.flatMap(({ data = [] }) => data)
  return { choices: [...deviceChoices, ...choicesOf(images)], failure: failureOf(catalogs) }
}

/**
 * Returns the channels, and their versions for SSR routers, with the models.
 * @param siteId Roles in single sites read the versions of a model there.
 */
export function useRouterCatalog(orgId: string, siteId?: string, model?: string): LoadedChoices {
  const { api } = useServer()
  const ofOrg = useQueries({
    queries: (siteId === undefined ? channels : []).map((channel) => ({
      queryKey: ['router versions', orgId, channel],
      queryFn: () =>
        answerOf(
          api.GET('/api/v1/orgs/{org_id}/ssr/versions', { params: { path: { org_id: orgId }, query: { channel } } }),
        ),
      staleTime: 60_000,
    })),
  })
  const ofSite = useQueries({
    queries: (siteId === undefined || model === undefined ? [] : [{ siteId, model }]).map((router) => ({
      queryKey: ['router versions', router.siteId, router.model],
      queryFn: () =>
        answerOf(
          api.GET('/api/v1/sites/{site_id}/devices/versions', {
            params: { path: { site_id: router.siteId }, query: { type: 'gateway' as const, model: router.model } },
          }),
        ),
      staleTime: 60_000,
    })),
  })
  const images = [
    ...ofOrg.flatMap(({ data = [] }) => data.map((image) => ({ model: image.package, version: image.version }))),
    ...ofSite.flatMap(({ data = [] }) => data),
  ]
  return { choices: [...channelChoices, ...choicesOf(images)], failure: failureOf([...ofOrg, ...ofSite]) }
}

/** Returns a choice for each version, the highest first. */
function choicesOf(images: readonly { readonly model: string; readonly version: string }[]): readonly Choice[] {
  const byVersion = Map.groupBy(images, ({ version }) => version)
  const versions = [...byVersion].map(([version, some]) => {
    const models = [...new Set(some.map(({ model }) => model))]
    const shown =
      models.length > 3 ? `${models.slice(0, 3).join(', ')} and ${models.length - 3} more` : models.join(', ')
    return { value: version, label: `${version} (${shown})` }
  })
  return versions.toSorted((a, b) => b.value.localeCompare(a.value, 'en', { numeric: true }))
}
