import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg } from '../../access/scope.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import {
  type ImageFiles,
  type ReceivedImage,
  discardImage,
  keepImage,
  receiveImage,
  removeImage,
} from '../../platform/images/image-files.ts'
import type { MapImage } from '../../maps/store.ts'
import type { Bundle } from './bundle.ts'
import type { ImportedFloor } from './plan-placements.ts'
import type { Floor } from './project.ts'

/** A floor whose picture is on disk, under the name that its row will have. */
export interface KeptFloor extends ImportedFloor {
  readonly image: (MapImage & Pick<ReceivedImage, 'reservation'>) | null
  /** The map's document, in wire shape. */
  readonly doc: Record<string, unknown>
}

/**
 * Stores one picture after the other, because decoding all at the same time would need too much memory. Removes all of
 * them when it throws; otherwise the caller releases their reservations.
 */
export async function keepFloors(
  files: ImageFiles,
  scope: InOrg,
  { bundle, floors }: { readonly bundle: Bundle; readonly floors: readonly Floor[] },
): Promise<readonly KeptFloor[]> {
  const kept: KeptFloor[] = []
  try {
    for (const floor of floors) kept.push(keptFloor(floor, await keepPicture(files, scope, { bundle, floor })))
    return kept
  } catch (error) {
    await removeFloors(files, kept)
    releaseFloors(kept)
    throw error
  }
}

/** Removes the pictures of floors that no row names. */
export async function removeFloors(files: ImageFiles, kept: readonly KeptFloor[]): Promise<void> {
  for (const { image } of kept) if (image !== null) await removeImage(files, image.name)
}

export function releaseFloors(kept: readonly KeptFloor[]): void {
  for (const { image } of kept) image?.reservation.release()
}

async function keepPicture(
  files: ImageFiles,
  { orgId }: InOrg,
  { bundle, floor: { picture } }: { readonly bundle: Bundle; readonly floor: Floor },
): Promise<ReceivedImage | null> {
  if (picture === null) return null
  const body = await bundle.open(picture, files.maxBytes)
  const received = await receiveImage(files, { orgId, body, declaredType: null }).catch((error: unknown) => {
    // The error's field is the bundle, so the text names the picture. Errors of the bundle itself name it already.
    const reason = error instanceof AppError && error.code === 'invalid' ? error.fields['reason'] : undefined
    if (typeof reason === 'string' && !reason.startsWith(picture)) throw invalidField('file', `${picture} ${reason}`)
    throw error
  })
  try {
    await keepImage(files, received)
    return received
  } catch (error) {
    await discardImage(received)
    throw error
  }
}

function keptFloor(floor: Floor, picture: ReceivedImage | null): KeptFloor {
  const { name, size, meters } = floor
  const width = picture?.width ?? Math.round(size?.width ?? 0)
  const height = picture?.height ?? Math.round(size?.height ?? 0)
  const scale =
    size === null || meters === null
      ? {}
      : { ppm: width / (size.width * meters), width_m: size.width * meters, height_m: size.height * meters }
  const doc = { name, type: 'image', width, height, ...scale }
  return { floor, mapId: uuidv7(), width, height, image: picture, doc }
}
