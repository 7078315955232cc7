import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { DecoderEnd, DecoderJob, DecoderStart } from './decoder-job.ts'

const PROGRAM = fileURLToPath(new URL('decoder-starter.ts', import.meta.url))
const FLAGS = ['--disable-warning=ExperimentalWarning']
/** The starter takes 40 MB while it runs. */
const IDLE_MS = 30_000

interface Starter {
  readonly process: ChildProcess
  readonly running: Map<
    number,
    { readonly resolve: (end: DecoderEnd) => void; readonly reject: (error: Error) => void }
  >
  idle: NodeJS.Timeout | null
}

let starter: Starter | null = null
let started = 0

class StarterEnded extends Error {}

/**
 * Runs the process that decodes a picture, and resolves when it has ended. A small process starts it: the system copies
 * the page tables of a process that starts another one, which would hold a server of 400 MB for more than 10 ms each
 * time.
 * @throws Error if the starter can't run, or has ended twice.
 */
export async function runDecoder(job: DecoderJob, withinMs: number): Promise<DecoderEnd> {
  try {
    return await runOnce(job, withinMs)
  } catch (error) {
    // The system may have ended it while it had nothing to do.
    if (!(error instanceof StarterEnded)) throw error
    return runOnce(job, withinMs)
  }
}

function runOnce(job: DecoderJob, withinMs: number): Promise<DecoderEnd> {
  const current = (starter ??= startStarter())
  if (current.idle !== null) clearTimeout(current.idle)
  const id = (started += 1)
  return new Promise((resolve, reject) => {
    current.running.set(id, { resolve, reject })
    // An error is followed by the end of the process, which rejects; so is a start without a file to spare for the channel.
    if (current.process.connected) current.process.send({ id, job, withinMs } satisfies DecoderStart, () => undefined)
  })
}

function startStarter(): Starter {
  const child = fork(PROGRAM, [], { execArgv: FLAGS, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const made: Starter = { process: child, running: new Map(), idle: null }
  child.on('message', (end: DecoderEnd) => {
    made.running.get(end.id)?.resolve(end)
    made.running.delete(end.id)
    if (made.running.size === 0) made.idle = setTimeout(() => stopStarter(made), IDLE_MS).unref()
  })
  const fail = (error: Error): void => {
    if (starter === made) starter = null
    for (const { reject } of made.running.values()) reject(error)
    made.running.clear()
  }
  child.once('error', fail)
  child.once('exit', (code, signal) => fail(new StarterEnded(`The starter of decoders ended (${signal ?? code})`)))
  // It never keeps the server from ending, and ends with it.
  child.unref()
  child.channel?.unref()
  return made
}

function stopStarter(idle: Starter): void {
  if (starter === idle) starter = null
  idle.process.disconnect()
}
