import { useQuery } from '@tanstack/react-query'
import { type Api, type Schemas, allPagesOf, pageOf, useServer } from '../api/client.ts'
import type { Choice } from '../display/forms/choices.ts'

export type Site = Schemas['Site']

/** The most that one page of a list has. */
const PAGE = 1000

/** All sites of an organization by their ids. */
export function useSites(orgId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['sites', orgId],
    queryFn: () => listSites(api, orgId),
    staleTime: 60_000,
    select: (sites): ReadonlyMap<string, Site> => new Map(sites.map((site) => [site.id, site])),
  })
}

/** Returns the choices of a field for a site; none until the sites are read. */
export function siteChoices(sites: ReadonlyMap<string, Site> | undefined): readonly Choice[] {
  return [...(sites?.values() ?? [])].map(({ id, name }) => ({ value: id, label: name }))
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
  const path = { org_id: orgId }
  return allPagesOf((page) =>
    pageOf(api.GET('/api/v1/orgs/{org_id}/sites', { params: { path, query: { limit: PAGE, page } } })),
  )
}
