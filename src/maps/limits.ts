import type { SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { countMapsOfSite } from './store-usage.ts'

/** Enough for a tower with its car parks; the largest import brings a hundred. */
export const MAX_MAPS_OF_SITE = 250
export const MAX_STACKS_OF_SITE = 250

/**
 * Call it after creating maps; changes and deletions are allowed at any number. It needs lockUsage() at the start of
 * `tx`, so that two transactions don't pass together.
 * @throws AppError invalid; it rolls back what `tx` wrote.
 */
export async function assertMapLimit(tx: Tx, scope: SiteScope): Promise<void> {
  if ((await countMapsOfSite(tx, scope)) > MAX_MAPS_OF_SITE)
    throw new AppError('invalid', `A site may have at most ${MAX_MAPS_OF_SITE} maps`)
}
