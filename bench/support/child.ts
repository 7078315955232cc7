import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface ChildOptions {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Standard output says that it is ready by a line that matches. */
  readonly ready: RegExp
}

export interface Child {
  readonly pid: number
  /** What the groups of `ready` matched, the whole first. */
  readonly said: readonly string[]
  send(message: string): void
  /** The next message that it sends. */
  hear(): Promise<unknown>
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const STOP_WITHIN_MS = 30_000

/**
 * Runs a program of ours as a process of its own, tied to this one by an IPC channel, and waits until
 * it is ready.
 * @throws Error when it ends before that.
 */
export async function startChild({ args, env, ready }: ChildOptions): Promise<Child> {
  // With the flags of Node that the runner gives to every program, hence to this one.
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const said = await firstMatch(child, ready)
  return {
    pid: child.pid ?? 0,
    said,
    send: (message) => void child.send(message),
    async hear() {
      const [message]: unknown[] = await once(child, 'message')
      return message
    },
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGINT')
      await once(child, 'exit', { signal: AbortSignal.timeout(STOP_WITHIN_MS) })
    },
  }
}

function firstMatch(child: ChildProcess, ready: RegExp): Promise<readonly string[]> {
  const { stdout } = child
  if (stdout === null) throw new Error('unreachable: its output is a pipe')
  return new Promise((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const match = ready.exec(line)
      if (match !== null) resolve([...match])
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`a child ended before it was ready (${signal ?? code})`)))
  })
}
