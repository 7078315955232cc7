import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { builtProgram } from './built-program.ts'

export interface ServerProcessOptions {
  readonly dataDir: string
  readonly demo?: boolean
  readonly env?: Record<string, string>
}

/** Starts the process of the built server on free ports, without waiting for it. */
export async function spawnServer({ dataDir, demo = false, env = {} }: ServerProcessOptions): Promise<ChildProcess> {
  return spawn(process.execPath, [await builtProgram('server'), ...(demo ? ['--demo'] : [])], {
    env: { ...serverEnv(dataDir), ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}

/** Returns the variables of a server on free ports that reports only warnings. */
export function serverEnv(dataDir: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    SIGNALBOX_DATA_DIR: dataDir,
    SIGNALBOX_PORT: '0',
    SIGNALBOX_UCENTRAL_PORT: '0',
    SIGNALBOX_EDGE_PORT: '0',
    SIGNALBOX_LOG_LEVEL: 'warn',
  }
}

/** Resolves with the server's address when it reports that it is ready. */
export function readyUrl(child: ChildProcess): Promise<string> {
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
