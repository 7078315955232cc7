import type { SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { readUsage } from './store-usage.ts'

/** A tower with its car parks; the largest import brings a hundred. */
export const MAX_MAPS_OF_SITE = 250
export const MAX_STACKS_OF_SITE = 250
/** Some tens of thousands of plans, as people draw them. */
const MAX_IMAGE_GIB_OF_ORG = 50

/**
 * After what makes maps, or pictures that are larger than before: who only changes or removes something
 * may do so however much there is. Needs lockUsage() at the start of `tx`, so that two don't pass together.
 * @throws AppError invalid; what `tx` wrote goes with it.
 */
export async function assertRoom(tx: Tx, scope: SiteScope): Promise<void> {
  const { maps, imageBytes } = await readUsage(tx, scope)
  if (maps > MAX_MAPS_OF_SITE) throw new AppError('invalid', `A site may have at most ${MAX_MAPS_OF_SITE} maps.`)
  if (imageBytes > MAX_IMAGE_GIB_OF_ORG * 1024 ** 3)
    throw new AppError(
      'invalid',
      `The maps of an organization may have at most ${MAX_IMAGE_GIB_OF_ORG} GiB of pictures.`,
    )
}
