import { identifyVersion } from '../../firmware/version-identity.ts'
import { areComparable, compareVersions } from '../../firmware/version-order.ts'
import type { CatalogEntry } from './plan-versions.ts'

export interface Running {
  /** The version that the device reported last; null if it has never connected. */
  readonly fromVersion: string | null
  /** For each member of a Virtual Chassis; empty for any other device. */
  readonly memberVersions: readonly string[]
}

/**
 * Returns the reason why the version can't be installed on the device's present one, or null if it can. A device whose
 * version can't be compared with the lowest one is not upgraded, because the result is unknown.
 * @param catalog The entries of the device's model.
 */
export function findTooLow(
  { fromVersion, memberVersions }: Running,
  { version, minVersion }: CatalogEntry,
  catalog: readonly CatalogEntry[],
): string | null {
  if (minVersion === null) return null
  const needs = `but ${version} can only be installed from ${minVersion} or a later version`
  if (fromVersion === null) return `has never reported its version, ${needs}`
  for (const said of [fromVersion, ...memberVersions]) {
    const running = identifyVersion(said, catalog)
    if (!areComparable(running, minVersion)) return `runs ${running}, which can't be compared, ${needs}`
    if (compareVersions(running, minVersion) < 0) return `runs ${running}, ${needs}`
  }
  return null
}

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
