import { mergeDocument, omitFields } from '../http/bodies/documents.ts'
import { readOnlyOf } from '../http/read-only-fields.ts'
import { assertImageUrls } from '../platform/images/assert-image-urls.ts'
import type { Device } from './store.ts'

/** The pictures have their own operations. */
const PICTURES = ['image1_url', 'image2_url', 'image3_url']

export interface DeviceChange {
  /** Documents in wire shape, with `name` in them. */
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
  /** The parts of `after`, in their stored form. */
  readonly name: string | null
  readonly doc: Record<string, unknown>
}

/**
 * Merges a client's document into a device, top level only.
 * @param change In wire shape; `name`, where present, is a text or null.
 * @throws AppError too_large as mergeDocument(); invalid for the address of another picture.
 */
export function changeDevice(
  device: Pick<Device, 'name' | 'doc' | 'images'>,
  change: Readonly<Record<string, unknown>>,
): DeviceChange {
  assertImageUrls(device.images ?? {}, change)
  const before = { ...device.doc, ...(device.name !== null && { name: device.name }) }
  const after = mergeDocument(before, omitFields(change, [...readOnlyOf('Device'), ...PICTURES]))
  const { name, ...doc } = after
  return { before, after, name: typeof name === 'string' ? name : null, doc }
}
