import type { Running } from '../../firmware/lowest-version.ts'
import { identifyVersion } from '../../firmware/version-identity.ts'
import { areComparable, compareVersions } from '../../firmware/version-order.ts'
import type { CatalogEntry } from './plan-versions.ts'

/** Returns a reason if the device runs a higher version than the given one, or null. @param catalog The entries of its model. */
export function findHigher(
  { fromVersion }: Pick<Running, 'fromVersion'>,
  { version }: CatalogEntry,
  catalog: readonly CatalogEntry[],
): string | null {
  if (fromVersion === null) return null
  const running = identifyVersion(fromVersion, catalog)
  const isHigher = areComparable(running, version) && compareVersions(running, version) > 0
  return isHigher ? `runs ${running}, which is higher than ${version}` : null
}
