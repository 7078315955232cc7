/** A version with the strings by which devices report it, besides its name. */
export interface NamedVersion {
  readonly version: string
  readonly reported: readonly string[]
}

/** True if a device that reports `said` runs the version. */
export function isReportOf(said: string | null, { version, reported }: NamedVersion): boolean {
  return said !== null && (said === version || reported.includes(said))
}

/** Returns the version of a model that a device runs, or the reported text if the catalog does not know it. */
export function identifyVersion(said: string, versions: readonly NamedVersion[]): string {
  return versions.find((version) => isReportOf(said, version))?.version ?? said
}
