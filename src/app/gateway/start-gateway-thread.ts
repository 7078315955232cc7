import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { RepeatedRefusal } from '../../gateway/admission/refusals.ts'
import type { Context } from '../../platform/context.ts'
import type { LogOutput } from '../../platform/log-output.ts'
import { pause } from '../../platform/time/pause.ts'
import type { TimeReading } from '../../platform/time/service-clock.ts'
import {
  type FromGateway,
  type GatewayPorts,
  type GatewayThreadData,
  type ToGateway,
  wakeMessage,
} from './gateway-messages.ts'

export interface GatewayThreadOptions extends Omit<GatewayThreadData, 'time' | 'baseUrl'> {
  /** Reads the service time, which the thread follows. */
  readonly readTime: () => TimeReading
  /** The destination of the thread's log lines. */
  readonly logOutput: LogOutput
  /** The file that the thread runs. Default: the one beside this module, which is a source or a file of the build. */
  readonly program?: string
}

export interface GatewayThread {
  readonly ports: GatewayPorts
  /** Resolves with a sentence when the thread ends by itself. Pending otherwise. */
  readonly failed: Promise<string>
  /** The number of devices and edge appliances that were connected about a second ago. */
  countLinks(): number
  /** Lists why the latest devices were refused. Resolves with none when the thread has ended. */
  listRefusals(): Promise<readonly RepeatedRefusal[]>
  /** Closes all links in order. @throws Error when the thread had to be ended because it took too long. */
  stop(withinMs?: number): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('gateway-thread.ts', import.meta.url))
const READ_TIME_MS = 1000
/** The whole service has 20 s to stop, and other parts need some of them. */
const STOP_WITHIN_MS = 10_000

/**
 * Runs the gateway in its own thread, so that messages of devices never delay an answer to a client; see decision 47.
 * Resolves when devices can connect.
 * @throws Error of the thread when it can't start, such as that of a port that is in use.
 */
export async function startGatewayThread(ctx: Context, options: GatewayThreadOptions): Promise<GatewayThread> {
  const { readTime, logOutput, program = PROGRAM, ...data } = options
  const worker = new Worker(program, {
    name: 'gateway',
    workerData: { ...data, baseUrl: ctx.baseUrl, time: readTime() } satisfies GatewayThreadData,
  })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- That is for windows.
  const send = (message: ToGateway): void => worker.postMessage(message)
  const wakes = ctx.wakes.connect((...wake) => send(wakeMessage(...wake)))
  const timer = setInterval(() => send({ kind: 'time', reading: readTime() }), READ_TIME_MS)
  const listening = Promise.withResolvers<GatewayPorts>()
  const questions = new Map<number, (refusals: readonly RepeatedRefusal[]) => void>()
  let asked = 0
  let linkCount = 0
  let hasEnded = false
  worker.on('message', (message: FromGateway) => {
    if (message.kind === 'wake') wakes.receive(message.name, message.ids, message.rows)
    else if (message.kind === 'log') logOutput.write(message.line)
    else if (message.kind === 'links') linkCount = message.count
    else if (message.kind === 'refusals') {
      questions.get(message.question)?.(message.refusals)
      questions.delete(message.question)
    } else {
      wakes.limitTo(message.wakes)
      listening.resolve(message.ports)
    }
  })
  const ended = endOf(worker).finally(() => {
    clearInterval(timer)
    wakes.disconnect()
    hasEnded = true
    for (const answer of questions.values()) answer([])
  })
  const ports = await Promise.race([listening.promise, ended.then(throwEnd)])
  let isStopping = false
  let hasFailed = false
  const failed = ended.then((end) => {
    if (isStopping) return new Promise<string>(() => {})
    hasFailed = true
    const error = errorOf(end)
    ctx.log.error({ err: error }, 'the gateway ended')
    return `the gateway ended: ${error.message}`
  })
  return {
    ports,
    failed,
    countLinks: () => linkCount,
    listRefusals() {
      const { promise, resolve } = Promise.withResolvers<readonly RepeatedRefusal[]>()
      if (hasEnded) return Promise.resolve([])
      asked += 1
      questions.set(asked, resolve)
      send({ kind: 'list-refusals', question: asked })
      return promise
    },
    async stop(withinMs = STOP_WITHIN_MS) {
      if (hasFailed) return
      isStopping = true
      send({ kind: 'stop' })
      const end = await endWithin(worker, { ended, withinMs: Math.min(withinMs, STOP_WITHIN_MS) })
      if (end.error !== null) throw end.error
    },
  }
}

interface ThreadEnd {
  /** The error that ended the thread; null if it exited. */
  readonly error: Error | null
  readonly code: number
}

function endOf(worker: Worker): Promise<ThreadEnd> {
  let error: Error | null = null
  worker.on('error', (thrown) => (error = thrown instanceof Error ? thrown : new Error(String(thrown))))
  return new Promise((resolve) => worker.once('exit', (code) => resolve({ error, code })))
}

function errorOf({ error, code }: ThreadEnd): Error {
  return error ?? new Error(`its thread exited with code ${code}`)
}

function throwEnd(end: ThreadEnd): never {
  throw errorOf(end)
}

async function endWithin(
  worker: Worker,
  { ended, withinMs }: { readonly ended: Promise<ThreadEnd>; readonly withinMs: number },
): Promise<ThreadEnd> {
  const waiting = new AbortController()
  void ended.then(() => waiting.abort())
  await pause(withinMs, waiting.signal)
  if (waiting.signal.aborted) return ended
  await worker.terminate()
  throw new Error(`The gateway had not stopped after ${Math.round(withinMs)} ms`)
}
