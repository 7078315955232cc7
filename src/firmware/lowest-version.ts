import { type NamedVersion, identifyVersion } from './version-identity.ts'
import { areComparable, compareVersions } from './version-order.ts'

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
  { version, minVersion }: { readonly version: string; readonly minVersion: string | null },
  catalog: readonly NamedVersion[],
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
