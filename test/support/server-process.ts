import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const program = fileURLToPath(new URL('../../src/bin/server.ts', import.meta.url))

/** The server as a user runs it: as a process of its own, on free ports. */
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

export interface ServerProcessOptions {
  readonly dataDir: string
  readonly demo?: boolean
  readonly env?: Record<string, string>
}

/** Starts the server and resolves when it reports that it is ready. The process ends with the test at the latest. */
export async function startServerProcess({
  dataDir,
  demo = false,
  env = {},
}: ServerProcessOptions): Promise<ServerProcess> {
  const child = spawn(process.execPath, [program, ...(demo ? ['--demo'] : [])], {
    env: {
      ...process.env,
      SIGNALBOX_DATA_DIR: dataDir,
      SIGNALBOX_PORT: '0',
      SIGNALBOX_UCENTRAL_PORT: '0',
      SIGNALBOX_EDGE_PORT: '0',
      SIGNALBOX_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const exited = once(child, 'exit')
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await exited
  }
  onTestFinished(() => kill('SIGKILL'))
  const url = await readyUrl(child)
  return {
    child,
    url,
    demo: demo ? (JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as Demo) : null,
    kill,
  }
}

function readyUrl(child: ChildProcess): Promise<string> {
  const complaints: string[] = []
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', (text: Buffer) => complaints.push(text.toString()))
    child.once('exit', (code) => reject(new Error(`the server ended (${code}): ${complaints.join('')}`)))
    if (child.stdout === null) throw new Error('no pipe')
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, url] = /^signalbox ready (\S+)$/.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
  })
}
