import { spawn } from 'node:child_process'
import { hookLimitsMs } from '../mxedges/commands/time-limits.ts'

/** A program with its arguments; no shell is involved. */
export type CommandLine = readonly [string, ...(readonly string[])]

export interface RunOptions {
  /** For the program's input, as JSON. */
  readonly input?: object
  readonly timeoutMs?: number
  /** Called with the id of the program's process group; the result waits for it. */
  readonly onStart?: (group: number) => Promise<void>
}

export interface HookResult {
  readonly code: number | string
  /** The end of what it has written. */
  readonly output: string
}

const MAX_OUTPUT = 16_384
/** A service that the program has started may keep its output open. */
const CLOSE_MS = 1000

/** Runs a program of the operator. Kills it, with the programs that it has started, when its time is over. Never rejects. */
export function runHook(
  [program, ...args]: CommandLine,
  { input, timeoutMs = hookLimitsMs.control, onStart }: RunOptions = {},
): Promise<HookResult> {
  return new Promise((resolve) => {
    // A process group of its own can be killed whole.
    const child = spawn(program, args, { detached: true })
    const started = child.pid === undefined ? undefined : onStart?.(child.pid)
    // A failure to note the start does not stop a program that runs.
    const noted = Promise.resolve(started).catch(() => {})
    let output = ''
    const add = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-MAX_OUTPUT)
    }
    child.stdout.on('data', add)
    child.stderr.on('data', add)
    // A program that does not read its input closes the pipe.
    child.stdin.on('error', () => {})
    child.stdin.end(input === undefined ? '' : JSON.stringify(input))
    const timer = setTimeout(() => killGroup(child.pid), timeoutMs)
    child.on('error', (error) => end({ code: 'no start', output: error.message }))
    child.on('exit', (code, signal) => {
      const result = () => end({ code: code ?? signal ?? 'unknown', output })
      child.on('close', result)
      setTimeout(result, CLOSE_MS).unref()
    })
    function end(result: HookResult): void {
      clearTimeout(timer)
      child.stdout.destroy()
      child.stderr.destroy()
      void noted.then(() => resolve(result))
    }
  })
}

/** @throws Error with the last words of a program that fails. */
export async function runHookOrThrow(commandLine: CommandLine, options?: RunOptions): Promise<void> {
  const { code, output } = await runHook(commandLine, options)
  if (code !== 0) throw new Error(`${commandLine[0]} ended with ${code}: ${output.trim().slice(-300)}`)
}

/** Kills a program with all that it has started in its process group. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}
