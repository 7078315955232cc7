import type { Site } from '../../orgs/sites.ts'

export interface SiteRow {
  readonly site: Pick<Site, 'id' | 'label' | 'timezone'>
  readonly total: number
  readonly away: number
}

/** Puts sites with devices away first, those with the most of them before the others; the rest by name. */
export function orderSites(
  sites: readonly SiteRow['site'][],
  all: ReadonlyMap<string, number>,
  away: ReadonlyMap<string, number>,
): readonly SiteRow[] {
  return sites
    .map((site) => ({ site, total: all.get(site.id) ?? 0, away: away.get(site.id) ?? 0 }))
    .toSorted((one, other) => other.away - one.away || one.site.label.localeCompare(other.site.label, 'en'))
}
