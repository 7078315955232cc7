import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { limitConcurrency } from '../queues/limit-concurrency.ts'

/** The mode of files that no other user of the machine may read. */
export const OWNER_ONLY = 0o600

/**
 * Runs work that waits for the disk: two at a time, because each occupies one of Node's threads, which also read files and
 * look up names for everyone.
 */
export const whenDiskIsFree = limitConcurrency({ running: 2, waiting: Infinity, refusal: 'The disk is busy' })

/**
 * Writes a file whole or not at all, even if the power fails: readers see the former file, or this one.
 * @param mode Default OWNER_ONLY.
 */
export async function writeWhole(
  path: string,
  content: string | Buffer | Readable,
  mode: number = OWNER_ONLY,
): Promise<void> {
  const file = await open(`${path}.new`, 'w', mode)
  try {
    await file.writeFile(content)
  } finally {
    await file.close()
  }
  await moveWhole(`${path}.new`, path)
}

/**
 * Moves a complete file to its final name. Afterwards a power loss leaves it complete there. Both are on one file
 * system.
 */
export async function moveWhole(from: string, to: string): Promise<void> {
  await sync(from)
  await rename(from, to)
  // A rename is durable once its folder is.
  await sync(dirname(to))
}

/** Writes a file, or the list of names in a folder, through to the disk. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await whenDiskIsFree(() => file.sync())
  } finally {
    await file.close()
  }
}

/** Returns the text of a file; null if it does not exist. */
export async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
