import type { Running } from './lowest-version.ts'
import { type NamedVersion, identifyVersion } from './version-identity.ts'
import { areComparable, compareVersions } from './version-order.ts'

/** Returns a reason if the device runs a higher version than the given one, or null. @param catalog The entries of its model. */
export function findHigher(
  { fromVersion }: Pick<Running, 'fromVersion'>,
  { version }: { readonly version: string },
  catalog: readonly NamedVersion[],
): string | null {
  if (fromVersion === null) return null
  const running = identifyVersion(fromVersion, catalog)
  const isHigher = areComparable(running, version) && compareVersions(running, version) > 0
  return isHigher ? `runs ${running}, which is higher than ${version}` : null
}
