import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hookLimitsMs } from '../../mxedges/commands/time-limits.ts'
import type { LastingHooks } from './lasting-hook.ts'
import { type CommandLine, killGroup } from './run-hook.ts'

export interface Collection {
  /** The file for the program's output. */
  readonly path: string
  readonly maxBytes: number
  readonly timeoutMs: number
  /** Called with the id of the program's process group. */
  readonly onStart?: (group: number) => Promise<void>
}

/** The server's limit. */
const MAX_SUPPORT_BYTES = 64 * 1024 * 1024

/** Writes the support files that the operator's command prints. @throws Error with the reason. */
export function collectSupport(lasting: LastingHooks, commandLine: CommandLine, path: string): Promise<void> {
  const timeoutMs = hookLimitsMs.support
  return lasting.guard({ subject: 'support', timeoutMs }, (onStart) =>
    collectOutput(commandLine, { path, maxBytes: MAX_SUPPORT_BYTES, timeoutMs, onStart }),
  )
}

const MAX_ERROR = 300

/**
 * Runs a program of the operator and writes its output to a file. The program and its children are killed if the output
 * is too large or takes too long.
 * @throws Error with the reason; then the file is incomplete.
 */
export async function collectOutput(
  [program, ...args]: CommandLine,
  { path, maxBytes, timeoutMs, onStart }: Collection,
): Promise<void> {
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString('utf8')).slice(-MAX_ERROR)))
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const stop = AbortSignal.timeout(timeoutMs)
  try {
    const written = pipeline(child.stdout, limit(maxBytes), createWriteStream(path, { mode: 0o600 }), { signal: stop })
    const noted = child.pid === undefined ? undefined : onStart?.(child.pid)
    const [code] = await Promise.all([ended, written, noted])
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${errors.trim()}`)
  } catch (error) {
    killGroup(child.pid)
    throw stop.aborted ? new Error(`${program} did not end within ${timeoutMs / 1000} s`) : error
  } finally {
    child.stderr.destroy()
  }
}

function limit(maxBytes: number): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxBytes) done(new Error(`The support files have more than ${maxBytes} bytes`))
      else done(null, chunk)
    },
  })
}
