import { useQuery } from '@tanstack/react-query'
import { type Api, type Schemas, allPagesOf, pageOf, useServer } from '../api/client.ts'
import type { Choice } from '../display/forms/choices.ts'

type SiteRecord = Schemas['Site']

export interface Site extends SiteRecord {
  /** Its name, with what tells it apart where others have the same. */
  readonly label: string
}

/** The most that one page of a list has. */
const PAGE = 1000

/** All sites of an organization by their ids. */
export function useSites(orgId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['sites', orgId],
    queryFn: () => listSites(api, orgId),
    staleTime: 60_000,
    select: labelSites,
  })
}

/** Returns sites by their ids. Those of one name have their address in their labels, or else the end of their id. */
export function labelSites(sites: readonly SiteRecord[]): ReadonlyMap<string, Site> {
  const byName = Map.groupBy(sites, ({ name }) => name)
  return new Map(
    sites.map((site) => {
      const same = byName.get(site.name) ?? []
      return [site.id, { ...site, label: same.length > 1 ? `${site.name} (${markOf(site, same)})` : site.name }]
    }),
  )
}

function markOf({ id, address }: SiteRecord, same: readonly SiteRecord[]): string {
  const isOwn = same.filter((other) => other.address === address).length === 1
  return isOwn && typeof address === 'string' && address !== '' ? address : `…${id.slice(-6)}`
}

/** Returns the choices of a field for a site; none until the sites are read. */
export function siteChoices(sites: ReadonlyMap<string, Site> | undefined): readonly Choice[] {
  return [...(sites?.values() ?? [])].map(({ id, label }) => ({ value: id, label }))
}

/** Returns the time zone of all these sites; undefined if they differ. */
export function sharedZone(
  sites: ReadonlyMap<string, Site> | undefined,
  siteIds: readonly string[],
): string | undefined {
  const zones = new Set(siteIds.map((id) => sites?.get(id)?.timezone))
  return zones.size === 1 ? [...zones][0] : undefined
}

function listSites(api: Api, orgId: string): Promise<readonly SiteRecord[]> {
  const path = { org_id: orgId }
  return allPagesOf((page) =>
    pageOf(api.GET('/api/v1/orgs/{org_id}/sites', { params: { path, query: { limit: PAGE, page } } })),
  )
}
