import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runProgram } from '../../src/client/program.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { waitUntil } from '../support/wait-until.ts'

export interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** A person with an environment and without a configuration. */
export interface Person {
  readonly url: string
  readonly token: string
}

function environmentOf({ url, token }: Person): Record<string, string> {
  return { XDG_CONFIG_HOME: '/nowhere', SIGNALBOX_URL: url, SIGNALBOX_TOKEN: token }
}

/** Runs a command to its end. */
export async function runSignalbox(
  person: Person,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Result> {
  const [out, err] = [[] as string[], [] as string[]]
  const into = (lines: string[]) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString('utf8'))
        done()
      },
    })
  const code = await runProgram(args, {
    terminal: { stdout: into(out), stderr: into(err) },
    env: { ...environmentOf(person), ...env },
    interrupted: new AbortController().signal,
  })
  return { code, out: out.join(''), err: err.join('') }
}

/** A command in a separate process that runs until it is interrupted. */
export interface Running {
  readonly child: ChildProcess
  /** Resolves with the first line of JSON that matches and has not been returned before. */
  next(matches?: (line: AnyJson) => boolean): Promise<AnyJson>
  /** Resolves when the standard error output matches. */
  told(pattern: RegExp): Promise<void>
  /** The lines that no call of next() has returned. */
  readonly lines: AnyJson[]
  /** Interrupts it as Ctrl-C does, and resolves with the exit code. */
  interrupt(): Promise<number | null>
}

export async function startSignalbox(person: Person, args: readonly string[]): Promise<Running> {
  const child = spawn(process.execPath, [await builtProgram('signalbox'), ...args], {
    env: { PATH: process.env['PATH'], ...environmentOf(person) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const lines: AnyJson[] = []
  let [rest, told] = ['', '']
  child.stdout.on('data', (text: Buffer) => {
    const parts = (rest + text.toString('utf8')).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) lines.push(line.startsWith('{') ? JSON.parse(line) : line)
  })
  child.stderr.on('data', (text: Buffer) => (told += text.toString('utf8')))
  return {
    child,
    lines,
    next: (matches = () => true) =>
      waitUntil(`a line of ${args.join(' ')} (${told})`, () => {
        const place = lines.findIndex(matches)
        return place < 0 ? null : lines.splice(place, 1)[0]
      }),
    told: async (pattern) => void (await waitUntil(`${String(pattern)} in ${told}`, () => pattern.test(told) || null)),
    async interrupt() {
      child.kill('SIGINT')
      await exited
      return child.exitCode
    },
  }
}
