import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { hookLimitsMs } from '../../mxedges/commands/time-limits.ts'

/** A program with its arguments; no shell is involved. */
export type CommandLine = readonly [string, ...(readonly string[])]

/** @param name The member of a file that has the value. @throws Error that begins with the name. */
export function assertCommandLine(value: unknown, name: string): asserts value is CommandLine {
  const isCommandLine = Array.isArray(value) && Boolean(value[0]) && value.every((part) => typeof part === 'string')
  if (!isCommandLine) throw new Error(`${name} must be a list of texts, a program and its arguments`)
}

export interface RunOptions {
  /** The program's input, as JSON. */
  readonly input?: object
  readonly timeoutMs?: number
  /** Called with the id of the program's process group; the program begins once that has resolved, or not at all. */
  readonly onStart?: (group: number) => Promise<void>
  /** Called when the program has begun. Only together with `onStart`. */
  readonly onBegun?: () => void
  /** A file that gets the text at the moment when the program begins. Only together with `onStart`. */
  readonly begun?: { readonly path: string; readonly text: string }
}

export interface HookResult {
  readonly code: number | string
  /** The end of its output, including its error output. */
  readonly output: string
  /** The end of its standard output. */
  readonly printed: string
}

const MAX_OUTPUT = 16_384
/** A service that the program has started may keep its output open. */
const CLOSE_MS = 1000

/**
 * Becomes the program, with the same process id, when a line arrives. If the agent is killed before that, no program
 * runs without the agent's knowledge. The program's command line consists of arguments, which no shell interprets.
 */
const GATE = 'read -r text <&3 || exit 125; exec 3<&-; printf %s "$text" >"$0" || exit 125; exec "$@"'
const GATE_FD = 3

/** Runs a program of the operator. Kills it, with the programs that it has started, when its time is over. Never rejects. */
export function runHook(
  commandLine: CommandLine,
  { input, timeoutMs = hookLimitsMs.control, onStart, onBegun = () => {}, begun }: RunOptions = {},
): Promise<HookResult> {
  return new Promise((resolve) => {
    const [program, ...args]: CommandLine =
      onStart === undefined ? commandLine : ['/bin/sh', '-c', GATE, begun?.path ?? '/dev/null', ...commandLine]
    // A separate process group can be killed as a whole.
    const child = spawn(program, args, { detached: true, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })
    let output = ''
    let printed = ''
    const gate = child.stdio[GATE_FD] as Writable
    // A program that has just been killed closes the pipe.
    gate.on('error', () => {})
    if (onStart === undefined || child.pid === undefined) gate.end()
    else
      onStart(child.pid).then(
        () => gate.once('finish', onBegun).end(`${begun?.text ?? ''}\n`),
        (error: unknown) => {
          output = `The start of ${commandLine[0]} could not be recorded: ${String(error)}`
          gate.end()
        },
      )
    const add = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-MAX_OUTPUT)
    }
    child.stdout.on('data', (chunk: Buffer) => {
      add(chunk)
      printed = (printed + chunk.toString('utf8')).slice(-MAX_OUTPUT)
    })
    child.stderr.on('data', add)
    // A program that does not read its input closes the pipe.
    child.stdin.on('error', () => {})
    child.stdin.end(input === undefined ? '' : JSON.stringify(input))
    const timer = setTimeout(() => killGroup(child.pid), timeoutMs)
    child.on('error', (error) => end({ code: 'no start', output: error.message, printed }))
    child.on('exit', (code, signal) => {
      const result = () => end({ code: code ?? signal ?? 'unknown', output, printed })
      child.on('close', result)
      setTimeout(result, CLOSE_MS).unref()
    })
    function end(result: HookResult): void {
      clearTimeout(timer)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve(result)
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
    // The process has just ended.
  }
}
