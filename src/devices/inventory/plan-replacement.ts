import { omitFields } from '../../http/bodies/documents.ts'

/** The configuration of a device by people, besides its place. */
export interface DeviceDress {
  readonly name: string | null
  /** In wire shape. */
  readonly doc: Readonly<Record<string, unknown>>
}

export interface ReplacementPlan {
  readonly replacement: DeviceDress
  readonly replaced: DeviceDress
  /** Numbers of the pictures that the replacement takes. */
  readonly images: readonly number[]
}

/** Fields that place a device on the map of a site. */
const ON_THE_MAP = ['map_id', 'x', 'y']

/**
 * Plans the documents of two devices after one has replaced the other. The replacement takes every field that is not to
 * be discarded; a discarded field stays with the replaced device, and the replacement keeps its own. Replacing back
 * thus restores both.
 * @param discard Names of fields as on the wire; the pictures are `image1_url` to `image3_url`. A device without a map
 *   has no position either.
 */
export function planReplacement(
  replaced: DeviceDress,
  replacement: DeviceDress,
  discard: readonly string[],
): ReplacementPlan {
  const kept = discard.includes('map_id') ? [...discard, ...ON_THE_MAP] : discard
  const keepsName = kept.includes('name')
  const ownOf = ({ doc }: DeviceDress): Record<string, unknown> =>
    Object.fromEntries(Object.entries(doc).filter(([key]) => kept.includes(key) && !ON_THE_MAP.includes(key)))
  return {
    replacement: {
      name: keepsName ? replacement.name : (replaced.name ?? replacement.name),
      doc: { ...omitFields(replaced.doc, kept), ...ownOf(replacement) },
    },
    replaced: { name: keepsName ? replaced.name : null, doc: ownOf(replaced) },
    images: [1, 2, 3].filter((number) => !kept.includes(`image${number}_url`)),
  }
}
