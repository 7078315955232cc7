import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, chmod, mkdir, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DataDir, openDataDir } from '../../../src/platform/data-dir.ts'
import { stopOrphan } from '../../../src/platform/embedded-postgres/orphan.ts'
import type { Logger } from '../../../src/platform/log.ts'

const PREFIX = 'signalbox-run-'
const MEMORY = '/dev/shm'

/** Several times the space that the files of a run need at any moment. */
const ROOMY_BYTES = 4 * 1024 ** 3

/** A folder younger than this may belong to a run that has not locked it yet. */
const SETTLED_MS = 5000

/** The folder for all files of a run: the temporary folders of the tests and the database server that they share. */
export interface RunDir {
  readonly path: string
  /** The lock keeps other runs from removing the run's folder. */
  readonly dataDir: DataDir
  remove(): Promise<void>
}

/**
 * Creates the folder, after it has removed those of killed runs.
 * @param place `disk`: in the temporary folder. Default: in memory if there is enough.
 */
export async function makeRunDir(log: Logger, place: 'disk' | 'anywhere' = 'anywhere'): Promise<RunDir> {
  for (const base of new Set([tmpdir(), MEMORY])) await sweep(base, log)
  const base = place === 'disk' ? tmpdir() : await chooseBase()
  const path = join(base, `${PREFIX}${randomUUID().slice(0, 8)}`)
  await mkdir(path)
  // Every user may create files in it, as in the temporary folder that it replaces.
  await chmod(path, 0o1777)
  const dataDir = await openDataDir(join(path, 'data'))
  return {
    path,
    dataDir,
    async remove() {
      dataDir.release()
      await rm(path, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * Chooses memory, unless TMPDIR names another place or memory is short. Hundreds of tests create a database of hundreds
 * of files and drop it. To create a file, ext4 skips every inode that was deleted in the last minute, which costs more
 * processor time than many of the tests.
 */
async function chooseBase(): Promise<string> {
  const isChosen = (process.env['TMPDIR'] ?? '') !== ''
  return !isChosen && freemem() >= 2 * ROOMY_BYTES && (await isRoomy(MEMORY)) ? MEMORY : tmpdir()
}

/** Returns true if the folder exists, has room, and allows programs to run. */
async function isRoomy(folder: string): Promise<boolean> {
  const probe = join(folder, `${PREFIX}${randomUUID()}`)
  try {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < ROOMY_BYTES) return false
    await writeFile(probe, '', { mode: 0o700 })
    await access(probe, constants.X_OK)
    return true
  } catch {
    return false // The folder is missing or mounted `noexec`.
  } finally {
    await rm(probe, { force: true })
  }
}

/** Removes the folders of killed runs: those that can be locked. */
async function sweep(base: string, log: Logger): Promise<void> {
  for (const name of await readdir(base).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(base, name)
    const found = await stat(path).catch(() => null)
    if (found === null || !found.isDirectory() || Date.now() - found.mtimeMs < SETTLED_MS) continue
    const dataDir = await openDataDir(join(path, 'data')).catch(() => null) // The folder is in use, or belongs to another user.
    if (dataDir === null) continue
    await stopOrphan(join(dataDir.path, 'postgres/cluster'), log)
    dataDir.release()
    await rm(path, { recursive: true, force: true, maxRetries: 5 })
  }
}
