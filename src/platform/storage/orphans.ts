import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../log.ts'

/** Returns those of the names that a row refers to. */
export type FilterKnown = (names: readonly string[]) => Promise<ReadonlySet<string>>

export interface Orphans {
  /** True if this service named the file; others are not touched. */
  readonly isName: (name: string) => boolean
  readonly filterKnown: FilterKnown
  /** Later files are not touched: their rows may be about to be written. Null: all are old enough. */
  readonly before: Date | null
  /** The kind of file in the log, such as "picture". */
  readonly what: string
}

/** Removes files that no row names any more, because their owners were deleted. */
export async function removeOrphans(log: Logger, dir: string, orphans: Orphans): Promise<void> {
  const names = (await readdir(dir)).filter(orphans.isName)
  const known = await orphans.filterKnown(names)
  for (const name of names.filter((name) => !known.has(name))) {
    const file = await stat(join(dir, name)).catch(() => null)
    if (file === null || (orphans.before !== null && file.mtime >= orphans.before)) continue
    log.info({ name }, `removed a ${orphans.what} that nothing refers to`)
    await rm(join(dir, name), { force: true })
  }
}
