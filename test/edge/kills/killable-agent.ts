import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Point } from '../../../src/agent/points.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { MachinePlace } from './machine-roles.ts'

/** A point, and which of its occurrences since the process was armed. */
export type Kill = readonly [Point, number]

export interface AgentSettings extends MachinePlace {
  /** The folder of the agent's state. */
  readonly folder: string
  readonly url: string
  readonly code: string
  readonly kill: Kill | null
}

export interface AgentStatus {
  readonly passed: readonly Point[]
  /** True if the agent is connected, and has sent its hello since the last boot. */
  readonly isSettled: boolean
}

export const machineScript = fileURLToPath(new URL('machine.sh', import.meta.url))
/** Many agents start at a time, on a machine that may be busy. */
const WITHIN_MS = 120_000

/** An agent in a separate process, on a machine that is a folder. */
export class KillableAgent {
  readonly settings: Omit<AgentSettings, 'script' | 'kill'>
  readonly #program: string
  #child: ChildProcess | null = null
  #exited: Promise<unknown> = Promise.resolve()

  constructor(program: string, settings: Omit<AgentSettings, 'script' | 'kill'>) {
    this.#program = program
    this.settings = settings
  }

  /** Starts the process, which kills itself at `kill`. */
  start(kill: Kill | null): void {
    const settings = JSON.stringify({ ...this.settings, script: machineScript, kill } satisfies AgentSettings)
    const child = spawn(process.execPath, [this.#program, settings], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child = child
    this.#exited = once(child, 'exit')
  }

  /** Sets the point at which the running process kills itself, and resets the passed points. */
  async arm(kill: Kill | null): Promise<void> {
    await this.#ask({ arm: kill })
  }

  /** Rejects where the agent ends in another way, or not in time. */
  async untilKilled(): Promise<void> {
    const { signal, exitCode } = await waitUntil('the agent is killed', () => this.#ended(), WITHIN_MS)
    if (signal !== 'SIGKILL') throw new Error(`the agent ended with ${exitCode ?? signal}`)
  }

  #ended(): { readonly signal: string; readonly exitCode: number | null } | null {
    const { signalCode, exitCode } = this.#child ?? {}
    return signalCode == null && exitCode == null ? null : { signal: signalCode ?? '', exitCode: exitCode ?? null }
  }

  untilSettled(): Promise<AgentStatus> {
    return waitUntil(
      'the agent is connected',
      async () => {
        const status = await this.#ask({})
        return status.isSettled ? status : null
      },
      WITHIN_MS,
    )
  }

  async #ask(message: object): Promise<AgentStatus> {
    const child = this.#child
    if (child === null || this.#ended() !== null) throw new Error('the agent does not run')
    const answered = once(child, 'message')
    child.send(message)
    const [status] = (await answered) as [AgentStatus]
    return status
  }

  async end(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#exited
  }
}

/** Everything that the hooks of the machine read and write. */
export async function createMachine(folder: string, version: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const files = { version, boot: 'first', distro: 'release-0', notes: '', archive: randomBytes(150_000) }
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
}

/** Returns the faults of the agent's files: each has to be complete or absent, also right after a kill. */
export async function listBrokenFiles(folder: string): Promise<string[]> {
  const broken: string[] = []
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of names) {
    const path = join(entry.parentPath, entry.name)
    // Files that a kill leaves unfinished have distinct names, as have parts of downloads with their records.
    const isUnfinished = /\.new$|\.part$|^[0-9a-f]{64}\.json$|^support-/.test(entry.name)
    if (entry.isDirectory() || isUnfinished) continue
    const content = await readFile(path)
    if (!isWhole(entry.name, content)) broken.push(path)
  }
  return broken
}

function isWhole(name: string, content: Buffer): boolean {
  if (/^[0-9a-f]{64}$/.test(name)) return createHash('sha256').update(content).digest('hex') === name
  if (name.endsWith('.pem')) return content.toString().trimEnd().endsWith('-----END PRIVATE KEY-----')
  if (name.startsWith('begun-')) return content.length > 0
  try {
    JSON.parse(content.toString())
    return true
  } catch {
    return false
  }
}
