import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { serverEnv } from '../test/support/servers/spawn-server.ts'

/**
 * Measures from `npm start` to the line that says ready: the first start creates the database cluster, later ones only
 * open it.
 */
const LATER_STARTS = 5

const root = fileURLToPath(new URL('..', import.meta.url))

export async function run(): Promise<Record<string, unknown>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  try {
    const firstMs = await startOnce(dataDir)
    const laterMs: number[] = []
    for (let start = 0; start < LATER_STARTS; start += 1) laterMs.push(await startOnce(dataDir))
    const inOrder = laterMs.toSorted((a, b) => a - b)
    return { first_ms: firstMs, later_ms: inOrder[Math.floor(LATER_STARTS / 2)], later_worst_ms: inOrder.at(-1) }
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function startOnce(dataDir: string): Promise<number> {
  const began = performance.now()
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: serverEnv(dataDir),
    stdio: ['ignore', 'pipe', 'ignore'],
    // The process gets its own group, so that it can be interrupted as a terminal does.
    detached: true,
  })
  const exited = once(npm, 'exit')
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: npm.stdout }).on('line', (line) => line.startsWith('signalbox ready') && resolve())
  })
  await Promise.race([ready, exited.then(() => Promise.reject(new Error('npm start ended before it was ready')))])
  const tookMs = Math.round(performance.now() - began)
  if (npm.pid !== undefined) process.kill(-npm.pid, 'SIGINT')
  await exited
  return tookMs
}
