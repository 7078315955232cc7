import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { copyPreparedData } from '../database/prepared-data.ts'
import { type ServerProcessOptions, readyUrl, spawnServer } from './spawn-server.ts'
import type { AtEnd } from '../temporary-dir.ts'

/** The server as a user runs it: as a separate process, on free ports. */
export interface ServerProcess {
  readonly child: ChildProcess
  readonly url: string
  /** The output of `--demo`; null without it. */
  readonly demo: Demo | null
  kill(signal: NodeJS.Signals): Promise<void>
}

export interface Demo {
  readonly api_token: string
  readonly org_id: string
  readonly site_ids: readonly string[]
}

/**
 * Starts the server and resolves when it reports that it is ready. The process ends with the test, or at the latest by
 * `atEnd`. A new data folder is a copy of one that a server has used before; startFirstServerProcess() creates its own.
 */
export async function startServerProcess(
  options: ServerProcessOptions,
  atEnd: AtEnd = onTestFinished,
): Promise<ServerProcess> {
  const { dataDir, env = {} } = options
  const isNew = !existsSync(join(dataDir, 'secret.key'))
  if (isNew && env['SIGNALBOX_DATABASE_URL'] === undefined) await copyPreparedData(dataDir)
  return startFirstServerProcess(options, atEnd)
}

/** Like startServerProcess(), but the server itself creates its database and its keys if they are missing. */
export async function startFirstServerProcess(
  options: ServerProcessOptions,
  atEnd: AtEnd = onTestFinished,
): Promise<ServerProcess> {
  const child = await spawnServer(options)
  const exited = once(child, 'exit')
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await exited
  }
  atEnd(() => kill('SIGKILL'))
  const url = await readyUrl(child)
  showErrorsOfFailure(child)
  const demo = options.demo === true
  return {
    child,
    url,
    demo: demo ? (JSON.parse(await readFile(join(options.dataDir, 'demo.json'), 'utf8')) as Demo) : null,
    kill,
  }
}

/** Shows what a server has reported that ends with an error, because the code alone does not say why. */
function showErrorsOfFailure(child: ChildProcess): void {
  let reported = ''
  child.stderr?.on('data', (text: Buffer) => (reported += text.toString()))
  child.once('close', (code) => {
    if (code !== null && code !== 0) process.stderr.write(`The server ended with ${code}: ${reported}\n`)
  })
}
