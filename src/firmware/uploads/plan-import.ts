import type { CatalogVersion, VersionTraits } from '../firmware.ts'
import type { CatalogPackage } from '../packages/package.ts'
import type { ModelOffer, Offer, PackageOffer } from './upload-image.ts'
import { isReportOf } from '../version-identity.ts'

/** A file that is to be imported. */
export interface ImportFile extends Offer {
  /** Lower-case hex. */
  readonly sha256: string
}

export interface KnownImage {
  readonly id: string
  readonly sha256: string
  readonly signature: string | null
}

export interface ImportCatalog {
  readonly images: readonly KnownImage[]
  readonly versions: readonly CatalogVersion[]
  readonly packages: readonly CatalogPackage[]
}

export type ImportStep =
  /** `new`: the image is not stored; `changed`: it is stored, but with other metadata; `present`: nothing to do. */
  | { readonly kind: 'new' | 'changed' | 'present' }
  /** `problem` is for people. */
  | { readonly kind: 'refused'; readonly problem: string }

type Version = Omit<CatalogVersion, 'createdAt'>

/** The catalog as it will be once the files before have been imported. */
interface Working {
  readonly images: Map<string, KnownImage>
  /** The signatures that the import itself names, by the hashes of their images. */
  readonly signatures: Map<string, string>
  readonly versions: Version[]
  readonly packages: CatalogPackage[]
  /** The default packages that the import itself names. */
  readonly defaults: Set<string>
  /** What the files before are to be offered as. */
  readonly offers: Set<string>
}

/** Decides the effect of importing each of the files, in their order. */
export function planImport(catalog: ImportCatalog, files: readonly ImportFile[]): ImportStep[] {
  const working: Working = {
    images: new Map(catalog.images.map((image) => [image.sha256, image])),
    signatures: new Map(),
    versions: [...catalog.versions],
    packages: [...catalog.packages],
    defaults: new Set(),
    offers: new Set(),
  }
  return files.map((file) => planFile(working, file))
}

function planFile(working: Working, file: ImportFile): ImportStep {
  const { sha256, signature, as: offered } = file
  const image = working.images.get(sha256)
  const imageId = image?.id ?? sha256
  const step =
    offered.kind === 'models'
      ? planVersions(working, { ...file, as: offered, imageId })
      : planPackage(working, { ...file, as: offered, imageId })
  if (typeof step === 'string') return { kind: 'refused', problem: step }
  if (signature !== null) {
    const isOther = (working.signatures.get(sha256) ?? signature) !== signature
    // Each of the two would replace the other one, in every import anew.
    if (isOther) return { kind: 'refused', problem: 'The same bytes have two signatures, but an image has one' }
    working.signatures.set(sha256, signature)
  }
  working.images.set(sha256, { id: imageId, sha256, signature: signature ?? image?.signature ?? null })
  if (image === undefined) return { kind: 'new' }
  const isSigned = signature === null || signature === image.signature
  return { kind: step && isSigned ? 'present' : 'changed' }
}

type FileAs<O> = ImportFile & { readonly as: O; readonly imageId: string }

/** @returns True if the catalog already has all of it; a text: the reason why it can't be imported. */
function planVersions(
  { versions, offers }: Working,
  { version, imageId, as: { kind: _kind, models, ...traits } }: FileAs<ModelOffer>,
): boolean | string {
  let isKnown = true
  for (const model of models) {
    const ofModel = versions.filter((entry) => entry.model === model)
    for (const said of [version, ...traits.reported]) {
      const other = ofModel.find((entry) => entry.version !== version && isReportOf(said, entry))
      if (other !== undefined)
        return `${said} is what devices of the model ${model} report for version ${other.version}`
    }
    const entry = ofModel.find((one) => one.version === version)
    if (entry !== undefined && entry.imageId !== imageId)
      return `${model} has version ${version} from another image: delete that first`
    const isSame = entry !== undefined && hasTraits(entry, traits)
    if (offers.has(`${model} ${version}`) && !isSame) return twice(model, version)
    offers.add(`${model} ${version}`)
    isKnown &&= isSame
    if (entry !== undefined) versions.splice(versions.indexOf(entry), 1)
    versions.push({ model, version, imageId, ...traits })
  }
  return isKnown
}

function hasTraits(entry: Version, { tag, channel, reported, minVersion }: VersionTraits): boolean {
  const isSameList =
    entry.reported.length === reported.length && reported.every((said) => entry.reported.includes(said))
  return entry.tag === tag && entry.channel === channel && entry.minVersion === minVersion && isSameList
}

/** @returns As planVersions(). */
function planPackage(
  { packages, defaults, offers }: Working,
  { version, imageId, as: { kind: _kind, ...offer } }: FileAs<PackageOffer>,
): boolean | string {
  const { package: name, distro, channel, isDefault } = offer
  const place = `${name}${distro === null ? '' : ` for ${distro}`}`
  const entry = packages.find((one) => one.package === name && one.distro === distro && one.version === version)
  if (entry !== undefined && entry.imageId !== imageId)
    return `${place} has version ${version} from another image: delete that first`
  const isSame = entry !== undefined && entry.channel === channel && entry.isDefault === isDefault
  if (offers.has(`${place} ${version}`)) return isSame || twice(place, version)
  offers.add(`${place} ${version}`)
  if (isDefault && defaults.has(`${place} ${channel}`)) return `${place} has two defaults in the channel ${channel}`
  if (isDefault) defaults.add(`${place} ${channel}`)
  if (entry !== undefined) packages.splice(packages.indexOf(entry), 1)
  packages.push({ ...offer, version, imageId })
  return isSame
}

/** Each of the two would replace what the other one says, in every import anew. */
function twice(what: string, version: string): string {
  return `${what} has version ${version} twice, with different values`
}
