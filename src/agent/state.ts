import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Files that only the user of the agent can read. A write replaces the file whole, and survives a loss of power. */
export interface State {
  /** Returns null for a file that was never written. */
  read(name: string): Promise<string | null>
  write(name: string, text: string): Promise<void>
  remove(name: string): Promise<void>
  /** Returns the path of a file, for a program that writes it. */
  pathOf(name: string): string
  /** Lists the names of the files in a folder, without those that a crash left unfinished. */
  list(folder: string): Promise<string[]>
}

const UNFINISHED = '.new'

/** Opens the folder of the agent's state, and creates it if it is missing. */
export async function openState(folder: string): Promise<State> {
  await mkdir(join(folder, 'commands'), { recursive: true, mode: 0o700 })
  return {
    read: (name) => orNull(readFile(join(folder, name), 'utf8')),
    async write(name, text) {
      const path = join(folder, name)
      const file = await open(`${path}${UNFINISHED}`, 'w', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}${UNFINISHED}`, path)
      await syncFolder(dirname(path))
    },
    pathOf: (name) => join(folder, name),
    remove: (name) => rm(join(folder, name), { force: true }),
    async list(name) {
      const names = (await orNull(readdir(join(folder, name)))) ?? []
      return names.filter((file) => !file.endsWith(UNFINISHED)).toSorted()
    },
  }
}

async function orNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
