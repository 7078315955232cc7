import { MAX_SITE_BYTES } from '../../access/authentication/store.ts'
import type { SiteVersion } from '../../access/tables.ts'

/** The number of sites whose content is remembered after a change. Larger ones than those that are read with a token are not. */
const MAX_REMEMBERED = 100

export type WrittenSite = SiteVersion & { readonly docBytes: number }

/**
 * Waits for the changes of the site that came before, and makes the next one. A change that fails or returns undefined has
 * written nothing.
 * @param found What a read has found, perhaps while one of them was being made.
 * @param change Gets the latest known content. It must prove that this is current.
 */
export type TakeSiteTurn = <S extends WrittenSite>(
  found: SiteVersion,
  change: (latest: SiteVersion) => Promise<S | undefined>,
) => Promise<S | undefined>

/**
 * Changes of a site that are made at the same time would all begin with the same content, and all but one would be in vain. So they
 * take turns, and each begins with what the one before has written.
 */
export function createSiteTurns(): TakeSiteTurn {
  /** The end of the last change of each site that has one. */
  const ends = new Map<string, Promise<void>>()
  /** The one that was changed last comes last. */
  const written = new Map<string, SiteVersion>()

  function remember(id: string, site: WrittenSite | undefined): void {
    written.delete(id)
    if (site !== undefined && site.docBytes <= MAX_SITE_BYTES) written.set(id, site)
    const [oldest] = written.keys()
    if (written.size > MAX_REMEMBERED && oldest !== undefined) written.delete(oldest)
  }

  function latestOf(found: SiteVersion): SiteVersion {
    const last = written.get(found.id)
    return last !== undefined && last.orgId === found.orgId && last.modifiedAt >= found.modifiedAt ? last : found
  }

  return async (found, change) => {
    const { id } = found
    const { promise: end, resolve } = Promise.withResolvers<void>()
    const before = ends.get(id)
    ends.set(id, end)
    if (before !== undefined) await before
    try {
      const site = await change(latestOf(found))
      remember(id, site)
      return site
    } catch (error) {
      remember(id, undefined)
      throw error
    } finally {
      if (ends.get(id) === end) ends.delete(id)
      resolve()
    }
  }
}
