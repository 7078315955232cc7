import { createHash } from 'node:crypto'
import { chown, lstat, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { AppError } from '../errors.ts'

/** Part of the socket's name; nothing listens on the network. */
export const SOCKET_PORT = 5432

/** sun_path without its final zero on macOS, the shorter one. */
const MAX_SOCKET_PATH_BYTES = 103

/**
 * Returns where the socket lies: in `home`, or in a private temporary folder when that path is too long for a socket.
 */
export function planSocketDir(home: string, temporaryDirs: readonly string[] = [tmpdir(), '/tmp']): string {
  const name = `signalbox-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`
  const places = [home, ...temporaryDirs.map((folder) => join(folder, name))]
  const place = places.find((folder) => Buffer.byteLength(`${folder}/.s.PGSQL.${SOCKET_PORT}`) <= MAX_SOCKET_PATH_BYTES)
  if (place === undefined) throw new AppError('unavailable', `data folder path ${home} is too long`)
  return place
}

/**
 * Creates a socket folder outside `home`. Others can write to the temporary folder too, and could put their own
 * database there, so the folder must have the right owner and be closed to others.
 */
export async function makeSocketDir(folder: string, account: Account | null): Promise<void> {
  const uid = account?.uid ?? process.getuid?.()
  try {
    await mkdir(folder, { mode: 0o700 })
    if (account !== null) await chown(folder, account.uid, account.gid)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new AppError('unavailable', `${folder} is not a private folder of user ${uid}: remove it`)
  }
}

export async function removeSocketDir(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

/** Quotes an element of the setting unix_socket_directories, a list with commas. */
export function quoteSocketDir(folder: string): string {
  return `"${folder.replaceAll('"', '""')}"`
}
