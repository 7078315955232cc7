import { mergeDocument, omitFields } from '../http/documents.ts'

/** What the service itself says of a device; a client that sends it back changes nothing. */
const OWN_FIELDS = [
  ...['id', 'org_id', 'site_id', 'mac', 'serial', 'model', 'type', 'created_time', 'modified_time'],
  ...['image1_url', 'image2_url', 'image3_url'],
]

export interface DeviceChange {
  /** Documents in wire shape; `name` is a part of them. */
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
  /** Of `after`, as they are kept. */
  readonly name: string | null
  readonly doc: Record<string, unknown>
}

/**
 * What a client's document makes of a device: a top-level merge.
 * @param change In wire shape; `name`, where given, is a text or null.
 * @throws AppError too_large as mergeDocument().
 */
export function changeDevice(
  device: { readonly name: string | null; readonly doc: Readonly<Record<string, unknown>> },
  change: Readonly<Record<string, unknown>>,
): DeviceChange {
  const before = { ...device.doc, ...(device.name !== null && { name: device.name }) }
  const after = mergeDocument(before, omitFields(change, OWN_FIELDS))
  const { name, ...doc } = after
  return { before, after, name: typeof name === 'string' ? name : null, doc }
}
