import { constants } from 'node:fs'
import {
  access,
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  readFile,
  readdir,
  realpath,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { findNobody } from './embedded-postgres/account.ts'
import { AppError } from './errors.ts'
import { messageOf } from './message-of.ts'

/** The server's own folder, locked until `release` or the end of the process. */
export interface DataDir {
  /** Absolute, symbolic links resolved. */
  readonly path: string
  /**
   * If root runs in another user's folder, makes that user the owner of the files that root created there, so that they
   * can start the server later; the database has its own owner.
   */
  giveToOwner(): Promise<void>
  release(): void
}

/** The locks that are held. Node.js closes a database that nothing refers to, which would release its lock. */
const locks = new Set<DatabaseSync>()

/** SQLite's primary result code for "another connection holds the lock". */
const SQLITE_BUSY = 5

/**
 * Creates the folder if it is missing and locks it. The lock is the one that SQLite sets on an empty database file. The
 * kernel releases it with the process, so kill -9 and recycled process ids leave nothing to repair, and it works
 * between containers that share the folder. Node itself offers no file locks.
 * @throws AppError `conflict` when another server has locked the folder; `unavailable` when it can't be created or
 *   written; the message is one line for the operator.
 */
export async function openDataDir(path: string): Promise<DataDir> {
  const absolute = resolve(path)
  try {
    await makeDataDir(absolute)
    const folder = await realpath(absolute)
    const release = await lock(folder)
    return { path: folder, giveToOwner: () => giveAllToOwner(folder), release }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('unavailable', `data folder ${absolute} can't be used: ${messageOf(error)}`)
  }
}

async function makeDataDir(path: string): Promise<void> {
  const known = await stat(path).catch(() => null)
  if (known?.isDirectory() === true) return
  if (known !== null) throw new AppError('unavailable', `data folder ${path} is not a folder`)
  await mkdir(dirname(path), { recursive: true })
  await mkdir(path, { mode: 0o700 })
  if (process.getuid?.() !== 0) return
  // PostgreSQL refuses to run as root, so its user must be able to pass through the folder, though not list it.
  const { gid } = await findNobody()
  await chown(path, 0, gid)
  await chmod(path, 0o710)
}

async function lock(folder: string): Promise<() => void> {
  const lockFile = join(folder, 'server.lock')
  const pidFile = join(folder, 'server.pid')
  await checkWritable(folder, [lockFile, pidFile])
  const database = new DatabaseSync(lockFile)
  try {
    database.exec('begin exclusive')
  } catch (error) {
    database.close()
    if (!isBusy(error)) throw error
    throw new AppError('conflict', `data folder ${folder} is in use by ${await holder(pidFile)}`)
  }
  await writeFile(pidFile, `${process.pid}\n`)
  await giveToOwner(folder, [lockFile, pidFile])
  locks.add(database)
  return () => {
    if (locks.delete(database)) database.close()
  }
}

/** SQLite would only say that it can't open its file. @throws AppError `unavailable` */
async function checkWritable(folder: string, files: readonly string[]): Promise<void> {
  await refuseIfDenied(folder, constants.W_OK | constants.X_OK)
  for (const file of files)
    if ((await lstat(file).catch(nullIfMissing)) !== null) await refuseIfDenied(file, constants.W_OK)
}

async function refuseIfDenied(path: string, mode: number): Promise<void> {
  await access(path, mode).catch((error: unknown) => {
    const isDenied = error instanceof Error && 'code' in error && error.code === 'EACCES'
    if (!isDenied) throw error
    const user = `user ${process.geteuid?.() ?? ''}`.trim()
    throw new AppError('unavailable', `${user} may not write ${path}; change its owner, or set SIGNALBOX_DATA_DIR`)
  })
}

/** The folder of the database; see chooseAccount(). */
const DATABASE = 'postgres'

async function giveAllToOwner(folder: string): Promise<void> {
  if (process.getuid?.() !== 0 || (await stat(folder)).uid === 0) return
  const names = (await readdir(folder)).filter((name) => name !== DATABASE)
  for (const name of names) await giveToOwner(folder, await withContent(join(folder, name)))
}

/** Returns the path and everything below it, but not the targets of links, which may be anywhere. */
async function withContent(path: string): Promise<string[]> {
  const found = await lstat(path).catch(nullIfMissing)
  if (found?.isDirectory() !== true) return [path]
  const names = (await readdir(path).catch(nullIfMissing)) ?? []
  const below = await Promise.all(names.map((name) => withContent(join(path, name))))
  return [path, ...below.flat()]
}

/** Changes only root's files: this run has not created any others. */
async function giveToOwner(folder: string, paths: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(folder)
  for (const path of paths) {
    const found = await lstat(path).catch(nullIfMissing)
    if (found?.uid === 0) await lchown(path, uid, gid).catch(nullIfMissing)
  }
}

/** A file that was renamed or removed concurrently needs no owner. */
function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  throw error
}

async function holder(pidFile: string): Promise<string> {
  const text = await readFile(pidFile, 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return Number.isInteger(pid) ? `process ${pid}` : 'another process'
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
}
