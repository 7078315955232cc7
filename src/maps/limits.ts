import type { SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { countMapsOfSite } from './store-usage.ts'

/** A tower with its car parks; the largest import brings a hundred. */
export const MAX_MAPS_OF_SITE = 250
export const MAX_STACKS_OF_SITE = 250

/**
 * After what makes maps: who only changes or removes something may do so however many there are. Needs
 * lockUsage() at the start of `tx`, so that two don't pass together.
 * @throws AppError invalid; what `tx` wrote goes with it.
 */
export async function assertMapLimit(tx: Tx, scope: SiteScope): Promise<void> {
  if ((await countMapsOfSite(tx, scope)) > MAX_MAPS_OF_SITE)
    throw new AppError('invalid', `A site may have at most ${MAX_MAPS_OF_SITE} maps.`)
}
