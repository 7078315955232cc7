import { counted } from '../../platform/counted.ts'
import { type Running, findTooLow } from '../../firmware/lowest-version.ts'
import { identifyVersion } from '../../firmware/version-identity.ts'
import type { NewTarget } from '../../rollout/store-create.ts'
import type { UpgradeHop, UpgradeNote } from '../../rollout/rollout.ts'
import { areComparable, compareVersions } from '../../firmware/version-order.ts'
import { type CatalogEntry, isTrial } from './plan-versions.ts'

/**
 * Returns the versions through which a device reaches a version that can't be installed on its present one, without
 * that version; null: the catalog has no such path. A version that can be installed on one version can be installed on
 * any later one, so the path through the highest possible versions has the fewest hops.
 * @param catalog The entries of the device's model.
 */
export function planHops(
  device: Running,
  wanted: CatalogEntry,
  catalog: readonly CatalogEntry[],
): readonly CatalogEntry[] | null {
  const said = device.fromVersion === null ? [] : [device.fromVersion, ...device.memberVersions]
  const [lowest] = said.map((version) => identifyVersion(version, catalog)).toSorted(compareVersions)
  if (lowest === undefined) return null
  const known = planned.get(catalog) ?? new Map<string, readonly CatalogEntry[] | null>()
  planned.set(catalog, known)
  // Members of a Virtual Chassis whose versions can't be compared have no common path.
  const key = JSON.stringify([wanted.version, wanted.minVersion, ...new Set(said)])
  const before = known.get(key)
  if (before !== undefined) return before
  const steady = catalog.filter((entry) => !isTrial(entry))
  const hops = findHops({ device, lowest }, wanted, steady)
  known.set(key, hops)
  return hops
}

/** The known results by catalog, because a fleet has many devices and few versions. */
const planned = new WeakMap<readonly CatalogEntry[], Map<string, readonly CatalogEntry[] | null>>()

function findHops(
  { device, lowest }: { readonly device: Running; readonly lowest: string },
  wanted: CatalogEntry,
  catalog: readonly CatalogEntry[],
): readonly CatalogEntry[] | null {
  const lower = catalog
    .filter(({ version }) => compareVersions(version, wanted.version) < 0)
    .toSorted((a, b) => compareVersions(b.version, a.version))
  const hops: CatalogEntry[] = []
  let running = device
  while (findTooLow(running, wanted, catalog) !== null) {
    const at = hops.at(-1)?.version ?? lowest
    const next = lower.find(
      (entry) =>
        areComparable(entry.version, at) &&
        compareVersions(entry.version, at) > 0 &&
        findTooLow(running, entry, catalog) === null,
    )
    if (next === undefined) return null
    hops.push(next)
    running = { fromVersion: next.version, memberVersions: [] }
  }
  return hops
}

type Installed = Pick<NewTarget, 'imageId' | 'targetVersion' | 'reported' | 'path'>

/** Returns the image that a target installs first, and those that it installs after that. */
export function bindTarget(
  entry: Omit<CatalogEntry, 'model' | 'tag' | 'channel' | 'minVersion'>,
  via: readonly CatalogEntry[] = [],
): Installed {
  const [first = entry] = via
  const installed = { imageId: first.imageId, targetVersion: first.version }
  const reported = first.reported.length > 0 ? first.reported : null
  return { ...installed, reported, path: via.length === 0 ? null : [...via, entry].map(hopOf) }
}

function hopOf({ version, imageId, reported }: Parameters<typeof bindTarget>[0]): UpgradeHop {
  return { version, image_id: imageId, reported }
}

interface Planned {
  readonly entry: { readonly version: string; readonly imageId: string }
  readonly via?: readonly CatalogEntry[]
}

/** Returns the images that a device gets, in order. */
export function listImages({ entry, via = [] }: Planned): string[] {
  return [...via, entry].map(({ imageId }) => imageId)
}

/** Returns the images that devices get, each once. A fleet has many devices and few images. */
export function listDistinctImages(plans: readonly ({ readonly kind: string } & Partial<Planned>)[]): string[] {
  const entries = new Set<Planned['entry']>()
  for (const { kind, entry, via = none } of plans) {
    if (kind !== 'upgrade' || entry === undefined) continue
    for (const hop of via) entries.add(hop)
    entries.add(entry)
  }
  return [...new Set([...entries].map(({ imageId }) => imageId))]
}

const none: readonly CatalogEntry[] = []

/** Notes in the record of a site how many of its devices need more than one reboot. */
export function noteHops(plans: readonly ({ readonly kind: string } & Partial<Planned>)[]): UpgradeNote[] {
  return notePaths(
    plans.flatMap(({ kind, entry, via = [] }) =>
      kind !== 'upgrade' || entry === undefined || via.length === 0 ? [] : [[...via, entry]],
    ),
    '',
  )
}

/** The same for devices that join. Those of each search have their own note. */
export function noteJoiningHops(joining: readonly Pick<Installed, 'path'>[]): UpgradeNote[] {
  return notePaths(
    joining.flatMap(({ path }) => (path === null ? [] : [path])),
    'further ',
  )
}

/** @param more Precedes the name of what is counted. */
function notePaths(paths: readonly (readonly { readonly version: string }[])[], more: string): UpgradeNote[] {
  const ways = paths.map((path) => path.map(({ version }) => version).join(', then '))
  return [...Map.groupBy(ways, (versions) => versions)].map(([versions, some]) => {
    const devices = counted(
      some.length,
      `${more}device reboots more than once: it installs`,
      `${more}devices reboot more than once: they install`,
    )
    return { reason: `${devices} ${versions}` }
  })
}
