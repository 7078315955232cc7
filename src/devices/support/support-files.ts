import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { Task } from '../../platform/time/jobs.ts'
import { removeOrphans } from '../../platform/storage/orphans.ts'
import type { UploadQuota } from '../../platform/storage/upload-quota.ts'
import { emptyIncoming } from '../../platform/storage/uploads.ts'
import { filterKnownNames } from './store.ts'

/** The folder of the files that devices collect for their maker's support. */
export interface SupportFiles {
  /** Absolute path. */
  readonly dir: string
  /** Limit of one file. */
  readonly maxBytes: number
  readonly quota: UploadQuota
}

export const MAX_SUPPORT_FILE_BYTES = 64 * 1024 * 1024

/** Creates the folders and removes leftovers of a crash: partial uploads, and files without a row. */
export async function sweepSupportFiles(
  ctx: Pick<Context, 'db' | 'log'>,
  { dir }: Pick<SupportFiles, 'dir'>,
): Promise<void> {
  await emptyIncoming(dir)
  await removeRowlessFiles(ctx, dir, null)
}

/** A file gets its name before its row is committed, so younger files may belong to a row soon. */
const SETTLED_MS = 3600e3

/** The chore that removes the files of commands that were deleted, with their device or because they are old. */
export function supportTasks(ctx: Pick<Context, 'db' | 'log' | 'clock'>, { dir }: Pick<SupportFiles, 'dir'>): Task[] {
  const run = () => removeRowlessFiles(ctx, dir, addMs(ctx.clock.now(), -SETTLED_MS))
  return [{ name: 'support_files', cron: '45 * * * *', run }]
}

function removeRowlessFiles({ db, log }: Pick<Context, 'db' | 'log'>, dir: string, before: Date | null): Promise<void> {
  const filterKnown = (names: readonly string[]) => filterKnownNames(db, names)
  return removeOrphans(log, dir, { isName, filterKnown, before, what: 'support file' })
}

function isName(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(name)
}
