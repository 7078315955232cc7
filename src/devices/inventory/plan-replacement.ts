import { omitFields } from '../../http/documents.ts'

/** What people have made of a device, beside where it is. */
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

/** Where a device is on the map of a site. */
const ON_THE_MAP = ['map_id', 'x', 'y']

/**
 * What two devices are like after one has taken the place of the other. It takes everything that is not
 * to be discarded; that stays with the replaced one, and the replacement keeps its own. Replacing back
 * hence restores both.
 *
 * @param discard Names of fields as the device's document has them on the wire; the pictures are
 *   `image1_url` to `image3_url`. Who is not on the map has no position there either.
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
