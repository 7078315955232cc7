import type { SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'
import { AppError } from '../platform/errors.ts'
import type { Limits } from '../platform/limits.ts'
import { countMaps } from './store-usage.ts'

declare module '../platform/limits.ts' {
  interface Limits {
    /** Maps of all sites of an organization together. */
    readonly mapsPerOrg: number
    readonly mapsPerSite: number
  }
}

export const MAX_STACKS_OF_SITE = 250

/**
 * Call it after creating maps; changes and deletions are allowed at any number. It needs lockAdditions() at the start of
 * `tx`, so that two transactions don't pass together.
 * @throws AppError invalid; it rolls back what `tx` wrote.
 */
export async function assertMapLimit(
  tx: Tx,
  scope: SiteScope,
  { mapsPerOrg, mapsPerSite }: Pick<Limits, 'mapsPerOrg' | 'mapsPerSite'>,
): Promise<void> {
  const { ofOrg, ofSite } = await countMaps(tx, scope)
  if (ofSite > mapsPerSite) throw new AppError('invalid', `A site may have at most ${mapsPerSite} maps`)
  if (ofOrg > mapsPerOrg)
    throw new AppError('invalid', `An organization may have at most ${mapsPerOrg} maps in all its sites`)
}
