import { Worker } from 'node:worker_threads'
import type { Apart, ApartEnd, ApartRequest } from '../http/apart/messages.ts'
import type { Context } from '../platform/context.ts'
import { AppError } from '../platform/errors.ts'
import type { LogOutput } from '../platform/log.ts'
import { limitConcurrency } from '../platform/queues/limit-concurrency.ts'
import type { TimeReading } from '../platform/time/service-clock.ts'
import type { ApartThreadData, FromApart, ToApart } from './apart-messages.ts'
import { apartOperations } from './apart-operations.ts'

export interface ApartThreadOptions extends Omit<ApartThreadData, 'time' | 'baseUrl' | 'limits'> {
  readonly readTime: () => TimeReading
  /** The destination of the thread's log lines. */
  readonly logOutput: LogOutput
  /** The thread ends after so much time without requests. Default: two minutes. */
  readonly idleMs?: number
}

export interface ApartThread extends Apart {
  /** Ends the thread once it has answered. */
  stop(): Promise<void>
}

const IDLE_MS = 2 * 60_000
/** The whole service has 20 s to stop. */
const STOP_WITHIN_MS = 5000
/** The heap of the thread. An answer has 4 MiB at most, and a document of a megabyte takes up to 30 when it is parsed. */
const MAX_HEAP_MB = 256
/** What the thread does at a time. Requests that wait are bytes in the main thread, which their accounts' limits bound. */
const AT_A_TIME = { running: 4, waiting: 10_000, refusal: 'Too many expensive requests wait.' }

/** A running thread. */
interface Running {
  readonly worker: Worker
  /** The requests that it has not answered yet. */
  readonly pending: Map<number, PromiseWithResolvers<ApartEnd>>
  readonly ended: Promise<void>
}

/**
 * Runs expensive requests in a thread of low priority, so that neither their computations nor the garbage that they leave
 * delay others; see decision 231. The thread starts with the first request and ends when there have been none for a while.
 */
export function createApartThread(ctx: Context, options: ApartThreadOptions): ApartThread {
  const { readTime, idleMs = IDLE_MS } = options
  const limited = limitConcurrency(AT_A_TIME)
  const stopping = new Set<Promise<void>>()
  let running: Running | null = null
  let idle: NodeJS.Timeout | undefined
  let asked = 0
  let isStopped = false

  function start(): Running {
    const started = startThread(ctx, options, () => {
      clearTimeout(idle)
      idle = setTimeout(() => void end(), idleMs).unref()
    })
    void started.ended.then(() => {
      if (running === started) running = null
    })
    return started
  }

  /** Lets go of the thread, so that the next request starts another one. */
  async function end(): Promise<void> {
    clearTimeout(idle)
    const ending = running
    running = null
    if (ending === null) return
    stopping.add(ending.ended)
    const timer = setTimeout(() => void ending.worker.terminate(), STOP_WITHIN_MS)
    await Promise.allSettled([...ending.pending.values()].map(({ promise }) => promise))
    send(ending, { kind: 'stop' })
    await ending.ended
    clearTimeout(timer)
    stopping.delete(ending.ended)
  }

  async function ask(request: ApartRequest): Promise<ApartEnd> {
    if (isStopped) throw unanswered()
    clearTimeout(idle)
    running ??= start()
    const answered = Promise.withResolvers<ApartEnd>()
    asked += 1
    running.pending.set(asked, answered)
    send(running, { kind: 'request', id: asked, request, time: readTime() })
    return answered.promise
  }

  return {
    operations: new Set(apartOperations(ctx).map(({ id }) => id)),
    run: (request, assertWanted) =>
      limited(async () => {
        assertWanted?.()
        return ask(request)
      }),
    async stop() {
      isStopped = true
      await end()
      await Promise.all(stopping)
    },
  }
}

function unanswered(): AppError {
  return new AppError('unavailable', 'The service could not finish this request. Please try again.')
}

function send({ worker }: Running, message: ToApart): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- That is for windows.
  worker.postMessage(message)
}

/** @param onDone Called when the thread has answered all requests. */
function startThread(
  ctx: Context,
  { readTime, logOutput, idleMs: _, ...data }: ApartThreadOptions,
  onDone: () => void,
): Running {
  const worker = new Worker(new URL('apart-thread.ts', import.meta.url), {
    name: 'expensive requests',
    workerData: { ...data, limits: ctx.limits, baseUrl: ctx.baseUrl, time: readTime() } satisfies ApartThreadData,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const pending: Running['pending'] = new Map()
  const wakes = ctx.wakes.connect(() => undefined)
  // Nothing in the thread waits for them.
  wakes.limitTo([])
  worker.on('message', (message: FromApart) => {
    if (message.kind === 'wake') return wakes.receive(message.name, message.ids, message.rows)
    if (message.kind === 'log') return logOutput.write(message.line)
    pending.get(message.id)?.resolve(message.end)
    pending.delete(message.id)
    if (pending.size === 0) onDone()
  })
  worker.on('error', (error) => ctx.log.error({ err: error }, 'the thread of expensive requests ended'))
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      wakes.disconnect()
      for (const { reject } of pending.values()) reject(unanswered())
      resolve()
    })
  })
  return { worker, pending, ended }
}
