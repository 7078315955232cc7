import { execFile } from 'node:child_process'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { DecoderEnd, DecoderStart } from './decoder-job.ts'

// The program that starts a process for each picture; run-decoder.ts starts it.

const PROGRAM = fileURLToPath(new URL('decoder-process.ts', import.meta.url))
/** Answering calls has priority. The processes that it starts inherit it. */
const NICENESS = 10

function start({ id, job, withinMs }: DecoderStart): void {
  const options = { timeout: withinMs, killSignal: 'SIGKILL', windowsHide: true } as const
  execFile(process.execPath, [...process.execArgv, PROGRAM, JSON.stringify(job)], options, (error, output) => {
    const failure = error && {
      message: error.message,
      killed: error.killed === true,
      code: typeof error.code === 'number' ? error.code : null,
      signal: error.signal ?? null,
    }
    process.send?.({ id, output, failure } satisfies DecoderEnd)
  })
}

setPriority(NICENESS)
process.on('message', (message: DecoderStart) => start(message))
// The decoders that still run end when this process does.
process.once('disconnect', () => process.exit(0))
// Ctrl-C in a terminal reaches all processes; the server ends this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
