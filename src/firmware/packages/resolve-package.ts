import { compareVersions } from './compare-versions.ts'
import { type CatalogPackage, type Channel, channels } from './package.ts'

export interface WantedPackage {
  /** The name of the service, which is that of its package. */
  readonly service: string
  /** `latest`, `default`, or a version. */
  readonly wanted: string
  readonly channel: Channel
  /** The codename of the appliance's distribution; null if it reports none, so only packages for any fit. */
  readonly distro: string | null
}

/**
 * Returns the package that `wanted` refers to on an appliance, or null if the catalog has none. `latest` and `default`
 * are chosen from the channel and the more stable ones; a version may come from any. Among packages with the same
 * version, one for the distribution is preferred to one for any.
 */
export function resolvePackage(
  catalog: readonly CatalogPackage[],
  { service, wanted, channel, distro }: WantedPackage,
): CatalogPackage | null {
  const fitting = catalog
    .filter((entry) => entry.package === service && fitsDistro(entry, distro))
    .toSorted(newestFirst)
  const offered = fitting.filter((entry) => isOffered(entry, channel))
  if (wanted === 'latest') return offered[0] ?? null
  if (wanted === 'default') return offered.find(({ isDefault }) => isDefault) ?? null
  return fitting.find(({ version }) => version === wanted) ?? null
}

/** True for a package of the channel or of a steadier one. */
export function isOffered({ channel }: Pick<CatalogPackage, 'channel'>, through: Channel): boolean {
  return channels.indexOf(channel) <= channels.indexOf(through)
}

/** True for a package for the distribution or for any. */
export function fitsDistro(entry: Pick<CatalogPackage, 'distro'>, distro: string | null): boolean {
  return entry.distro === null || entry.distro === distro
}

/** Orders packages of one name; of the same version, one for any distribution comes last. */
export function newestFirst(a: CatalogPackage, b: CatalogPackage): number {
  return compareVersions(b.version, a.version) || Number(a.distro === null) - Number(b.distro === null)
}
