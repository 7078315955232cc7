import { useQuery } from '@tanstack/react-query'
import { type Api, type Schemas, answerOf, useServer } from '../api/client.ts'

export type Site = Schemas['Site']

/** Sites by their ids; pages show at most this many names. */
const MAX_SITES = 1000

export function useSites(orgId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['sites', orgId],
    queryFn: () => listSites(api, orgId),
    staleTime: 60_000,
    select: (sites): ReadonlyMap<string, Site> => new Map(sites.map((site) => [site.id, site])),
  })
}

/** Returns the time zone of all these sites; undefined if they differ. */
export function sharedZone(
  sites: ReadonlyMap<string, Site> | undefined,
  siteIds: readonly string[],
): string | undefined {
  const zones = new Set(siteIds.map((id) => sites?.get(id)?.timezone))
  return zones.size === 1 ? [...zones][0] : undefined
}

function listSites(api: Api, orgId: string): Promise<readonly Site[]> {
  return answerOf(
    api.GET('/api/v1/orgs/{org_id}/sites', { params: { path: { org_id: orgId }, query: { limit: MAX_SITES } } }),
  )
}
