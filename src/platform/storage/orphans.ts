import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../log.ts'

/** Of the names it is given, those that a row has. */
export type FilterKnown = (names: readonly string[]) => Promise<ReadonlySet<string>>

export interface Orphans {
  /** Whether a file's name is one that was given here; others are left alone. */
  readonly isName: (name: string) => boolean
  readonly filterKnown: FilterKnown
  /** Files of a later time are left alone: their rows may be about to be written. Null: all are old enough. */
  readonly before: Date | null
  /** In the log: what such a file is, "picture". */
  readonly what: string
}

/** Removes the files that no row names any more, because what they belonged to went with something else. */
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
