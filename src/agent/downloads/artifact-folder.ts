import { type Hash, createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The length of a SHA-256 in hex, by which the files of an artifact begin. */
const DIGEST = 64

/**
 * Deletes artifacts, complete or not, except the one with this digest and the newest of the rest, `others` in number.
 */
export async function deleteArtifacts(
  folder: string,
  { sha256, others }: { readonly sha256: string; readonly others: number },
): Promise<void> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith(sha256))
  const changedMs = new Map<string, number>()
  for (const name of names) {
    const digest = name.slice(0, DIGEST)
    const { mtimeMs } = await stat(join(folder, name))
    changedMs.set(digest, Math.max(mtimeMs, changedMs.get(digest) ?? 0))
  }
  const newest = [...changedMs].toSorted(([, a], [, b]) => b - a).map(([digest]) => digest)
  const deleted = new Set(newest.slice(others))
  for (const name of names) if (deleted.has(name.slice(0, DIGEST))) await rm(join(folder, name), { force: true })
}

/** Returns the running hash of a file; null if there is no file. */
export async function hashFile(path: string): Promise<Hash | null> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    return hash
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
