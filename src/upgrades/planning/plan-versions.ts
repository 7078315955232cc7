import type { DeviceType } from '../../events/device-type.ts'
import type { CatalogVersion } from '../../firmware/firmware.ts'
import { compareVersions } from '../../firmware/version-order.ts'

/** A line of the firmware catalog. */
export type CatalogEntry = Omit<CatalogVersion, 'createdAt'>

/** A client's choice of the version for some of the devices. */
export interface VersionChoice {
  /** Null: devices of all types. */
  readonly firmwareType: 'ap' | 'junos' | null
  /** A version of the catalog or a label; null: only the models of `modelVersion`. */
  readonly version: string | null
  /** Beats `version`. Model -> version or label. */
  readonly modelVersion: ReadonlyMap<string, string>
  readonly force: boolean
  /** The choices after this one cover the models for which the catalog lacks its version. */
  readonly isAlternative?: boolean
  /** Devices that run a higher version than that of a label keep theirs. */
  readonly keepsHigher?: boolean
}

export const versionLabels: ReadonlySet<string> = new Set(['latest', 'suggested', 'stable', 'beta', 'alpha'])

export type ResolvedVersion =
  | { readonly kind: 'found'; readonly entry: CatalogEntry; readonly force: boolean; readonly keepsHigher?: true }
  /** `reason` is for people. */
  | { readonly kind: 'none'; readonly reason: string }

/** Returns the version that a device is to run, by the first choice that covers its type and model. */
export function resolveVersion(
  device: { readonly type: DeviceType; readonly model: string },
  choices: readonly VersionChoice[],
  catalog: readonly CatalogEntry[],
): ResolvedVersion {
  let missing: string | null = null
  for (const choice of choices) {
    if (!covers(choice, device.type)) continue
    const wanted = choice.modelVersion.get(device.model) ?? choice.version
    if (wanted === null) continue
    const entry = findVersion(catalog, device.model, wanted)
    const keepsHigher = choice.keepsHigher === true && versionLabels.has(wanted)
    if (entry !== undefined) return { kind: 'found', entry, force: choice.force, ...(keepsHigher && { keepsHigher }) }
    missing ??= `no firmware ${wanted} for model ${device.model}`
    if (choice.isAlternative !== true) break
  }
  return { kind: 'none', reason: missing ?? `no version requested for model ${device.model}` }
}

function covers({ firmwareType }: VersionChoice, type: DeviceType): boolean {
  return firmwareType === null || (firmwareType === 'ap') === (type === 'ap')
}

/**
 * If several versions have a label, the highest wins. If no version has it, the name of a channel selects the highest
 * version of the channel, and `latest` the highest of all that neither their channel nor their tag calls `beta` or
 * `alpha`.
 */
export function findVersion(catalog: readonly CatalogEntry[], model: string, wanted: string): CatalogEntry | undefined {
  const known = found.get(catalog) ?? new Map<string, CatalogEntry | undefined>()
  found.set(catalog, known)
  const key = `${model}\n${wanted}`
  if (!known.has(key)) known.set(key, searchVersion(catalog, model, wanted))
  return known.get(key)
}

/** The known results by catalog, because a fleet has many devices and few models. */
const found = new WeakMap<readonly CatalogEntry[], Map<string, CatalogEntry | undefined>>()

function searchVersion(catalog: readonly CatalogEntry[], model: string, wanted: string): CatalogEntry | undefined {
  const ofModel = catalog.filter((entry) => entry.model === model)
  if (!versionLabels.has(wanted)) return ofModel.find(({ version }) => version === wanted)
  const labeled = ofModel.filter(({ tag }) => tag === wanted)
  const candidates = labeled.length > 0 ? labeled : ofModel.filter((entry) => isMeant(entry, wanted))
  return candidates.toSorted((a, b) => compareVersions(a.version, b.version)).at(-1)
}

/** True if a label that no version has may select the entry. */
function isMeant(entry: CatalogEntry, label: string): boolean {
  return label === 'latest' ? !isTrial(entry) : entry.channel === label
}

/**
 * True for a version that no device gets unless the request names it: `latest` is the default of requests, and the service itself
 * chooses the versions on the way to another one.
 */
export function isTrial({ channel, tag }: Pick<CatalogEntry, 'channel' | 'tag'>): boolean {
  return [channel, tag].some((label) => label === 'beta' || label === 'alpha')
}
