import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readyUrl, spawnServer } from '../servers/spawn-server.ts'
import { waitUntil } from '../wait-until.ts'

const run = promisify(execFile)
const PREPARED_WITHIN_MS = 110_000

/**
 * Fills the data folder as if a server had been started and stopped on it. A first start creates the database and the
 * keys, which takes as much processor time as all its other work.
 * @param dataDir Is empty or missing.
 */
export async function copyPreparedData(dataDir: string): Promise<void> {
  const prepared = await prepareData()
  await mkdir(dataDir, { recursive: true })
  // `cp` keeps the owners, which PostgreSQL checks.
  await run('cp', ['-a', `${prepared}/.`, dataDir])
}

/** Returns the folder of the run that is copied. The first test that needs it creates it. */
async function prepareData(): Promise<string> {
  const prepared = join(tmpdir(), 'prepared-data')
  if (existsSync(prepared)) return prepared
  if (await isFirst(`${prepared}.lock`)) {
    const unfinished = `${prepared}.new`
    await startOnce(unfinished)
    await rename(unfinished, prepared)
  } else await waitUntil('another test prepares a data folder', () => existsSync(prepared), PREPARED_WITHIN_MS)
  return prepared
}

async function isFirst(lock: string): Promise<boolean> {
  try {
    await mkdir(lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Starts a server and stops it in order, so that it also leaves its modules in the cache of the run. */
async function startOnce(dataDir: string): Promise<void> {
  const child = await spawnServer({ dataDir })
  const exited = once(child, 'exit')
  await readyUrl(child)
  child.kill('SIGTERM')
  await exited
}
