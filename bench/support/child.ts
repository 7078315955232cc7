import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface ChildOptions {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The child is ready when a line of its standard output matches this. */
  readonly ready: RegExp
  /** Receives the lines of the standard error output, which otherwise is that of this process. */
  readonly onErrorLine?: (line: string) => void
}

export interface Child {
  readonly pid: number
  /** The matches of `ready`'s groups; the first is the whole match. */
  readonly match: readonly string[]
  isRunning(): boolean
  /** @param message Anything that JSON can express. */
  send(message: string | object): void
  /** Resolves with the next message that the child sends; rejects if it ends before. */
  nextMessage(): Promise<unknown>
  /** Ends the child immediately, as `kill -9` does. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const STOP_WITHIN_MS = 30_000

/**
 * Runs one of the project's programs as a separate process, tied to this one by an IPC channel, and waits until it is
 * ready.
 * @throws Error when the program ends before it is ready.
 */
export async function startChild({ args, env, ready, onErrorLine }: ChildOptions): Promise<Child> {
  // The runner gives every program flags of Node, hence this one too; the child gets the same.
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', onErrorLine === undefined ? 'inherit' : 'pipe', 'ipc'],
  })
  if (onErrorLine !== undefined && child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', onErrorLine)
  const match = await firstMatch(child, ready)
  return {
    pid: child.pid ?? 0,
    match,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    send: (message) => void child.send(message),
    async nextMessage() {
      const ended = new AbortController()
      const end = (): void => ended.abort(new Error('a child ended before it sent a message'))
      child.once('exit', end)
      try {
        const [message]: unknown[] = await once(child, 'message', { signal: ended.signal })
        return message
      } finally {
        child.off('exit', end)
      }
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
