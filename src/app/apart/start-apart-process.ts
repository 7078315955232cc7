import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { accountOf } from '../../access/request-limits.ts'
import { type Apart, type ApartEnd, type ApartLocked, type ApartRequest, refusalOf } from '../../http/apart/messages.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { LogOutput } from '../../platform/log-output.ts'
import { lockedPauses } from '../../platform/queues/locked-pauses.ts'
import { shareConcurrency } from '../../platform/queues/share-concurrency.ts'
import { monotonicMs } from '../../platform/time/clock.ts'
import { pause } from '../../platform/time/pause.ts'
import type { TimeReading } from '../../platform/time/service-clock.ts'
import type { ApartData, FromApart, ToApart } from './apart-messages.ts'
import { apartOperations } from './apart-operations.ts'

export interface ApartProcessOptions extends Omit<ApartData, 'time' | 'baseUrl' | 'limits'> {
  readonly readTime: () => TimeReading
  /** The destination of its log lines. */
  readonly logOutput: LogOutput
  /** After this time without requests the process ends. Default: 30 s. */
  readonly idleMs?: number
  /** The file that the process runs. Default: the one beside this module, which is a source or a file of the build. */
  readonly program?: string
}

export interface ApartProcess extends Apart {
  /** Ends the process once it has answered, or after `withinMs`; default and maximum: 5 s. */
  stop(withinMs?: number): Promise<void>
}

const IDLE_MS = 30_000
/** The whole service has 20 s to stop, and other parts need some of them. */
const STOP_WITHIN_MS = 5000
const PROGRAM = fileURLToPath(new URL('apart-process.ts', import.meta.url))
/** The heap of the process. An answer has 4 MiB at most, and a document of a megabyte takes up to 30 when it is parsed. */
const FLAGS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4', '--max-old-space-size=256']
/** How many requests the process runs at a time, and how many wait. Those are bytes in the server, which limits of accounts bound. */
const AT_A_TIME = { running: 4, perHolder: 2, waiting: 10_000, refusal: 'Too many expensive requests wait.' }
/** The cost of the start of another process, which its requests share if this one ends with them. */
const START_MS = 500
/** The most that a request is charged for its time in a process that has ended: it may have waited for the database. */
const MAX_LOST_MS = 1000

interface Pending extends Pick<PromiseWithResolvers<ApartEnd | ApartLocked>, 'promise' | 'resolve'> {
  /** When it was sent: milliseconds, monotonic. */
  readonly sentMs: number
}

/** A running process. */
interface Running {
  readonly child: ChildProcess
  /** The requests that it has not answered yet. */
  readonly pending: Map<number, Pending>
  readonly ended: Promise<void>
}

/**
 * Runs expensive requests in a process of low priority, so that neither their computations nor the garbage that they leave
 * delay others; see decision 231. It starts with the first request and ends when there have been none for a while.
 */
export function createApartProcess(ctx: Context, options: ApartProcessOptions): ApartProcess {
  const { readTime, idleMs = IDLE_MS } = options
  const limited = shareConcurrency(AT_A_TIME)
  const stopping = new Set<Promise<void>>()
  let running: Running | null = null
  let idle: NodeJS.Timeout | undefined
  let asked = 0
  const stop = new AbortController()

  function start(): Running {
    const started = startProcess(ctx, options, () => {
      clearTimeout(idle)
      idle = setTimeout(() => void end(), idleMs).unref()
    })
    void started.ended.then(() => {
      if (running === started) running = null
    })
    return started
  }

  /** Lets go of the process, so that the next request starts another one. */
  async function end(withinMs = STOP_WITHIN_MS): Promise<void> {
    clearTimeout(idle)
    const ending = running
    running = null
    if (ending === null) return
    stopping.add(ending.ended)
    const timer = setTimeout(() => ending.child.kill('SIGKILL'), Math.min(withinMs, STOP_WITHIN_MS))
    await Promise.allSettled([...ending.pending.values()].map(({ promise }) => promise))
    send(ending, { kind: 'stop' })
    await ending.ended
    clearTimeout(timer)
    stopping.delete(ending.ended)
  }

  async function ask(request: ApartRequest): Promise<ApartEnd | ApartLocked> {
    if (stop.signal.aborted) return unanswered(0)
    clearTimeout(idle)
    running ??= start()
    const pending = { ...Promise.withResolvers<ApartEnd | ApartLocked>(), sentMs: monotonicMs() }
    asked += 1
    running.pending.set(asked, pending)
    send(running, { kind: 'request', id: asked, request, time: readTime() })
    return pending.promise
  }

  const operations = apartOperations(ctx)
  const changes = new Set(operations.filter(({ method }) => method !== 'GET').map(({ id }) => id))

  /** Changes of a record wait for each other in any case: in the process, they would occupy the places of others. */
  const lockOf = ({ operation, params }: ApartRequest): string | null =>
    changes.has(operation) ? `${operation} ${JSON.stringify(params).toLowerCase()}` : null

  return {
    operations: new Set(operations.map(({ id }) => id)),
    async run(request, assertWanted) {
      const share = { holder: accountOf(request.caller.principal), lock: lockOf(request) }
      const nextPauseMs = lockedPauses()
      let usedMs = 0
      try {
        for (;;) {
          const end = await limited(share, async () => {
            assertWanted?.()
            return ask(request)
          })
          usedMs += end.cpuMs
          if (!('isLocked' in end)) return { ...end, cpuMs: usedMs }
          // Others have its place until it tries again.
          await pause(nextPauseMs(), stop.signal)
        }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // Its account pays for the earlier tries.
        return { refusal: refusalOf(error), cpuMs: usedMs }
      }
    },
    async stop(withinMs) {
      stop.abort()
      await end(withinMs)
      await Promise.all(stopping)
    },
  }
}

function unanswered(cpuMs: number): ApartEnd {
  const error = new AppError('unavailable', 'The service could not finish this request. Please try again.')
  return { refusal: refusalOf(error), cpuMs }
}

/**
 * Ends the requests of a process that has ended. What they have used is not known, nor which of them has ended the process,
 * so they share their time and the start of the next process. Otherwise an account could end one after the other for nothing.
 */
function refuseAll(pending: Iterable<Pending>): void {
  const lost = [...pending]
  const nowMs = monotonicMs()
  for (const { resolve, sentMs } of lost)
    resolve(unanswered((Math.min(nowMs - sentMs, MAX_LOST_MS) + START_MS) / lost.length))
}

function send({ child }: Pick<Running, 'child'>, message: ToApart): void {
  // If it has ended or could not be started, that refuses the requests. Without a file to spare it has not even a channel.
  if (child.connected) child.send(message, () => undefined)
}

/** @param onDone Called when the process has answered all requests. */
function startProcess(
  ctx: Context,
  { readTime, logOutput, idleMs: _, program = PROGRAM, ...data }: ApartProcessOptions,
  onDone: () => void,
): Running {
  const child = fork(program, [], {
    execArgv: FLAGS,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  // It never keeps the server from ending, and ends with it.
  child.unref()
  child.channel?.unref()
  send({ child }, { kind: 'start', data: { ...data, limits: ctx.limits, baseUrl: ctx.baseUrl, time: readTime() } })
  const pending: Running['pending'] = new Map()
  const wakes = ctx.wakes.connect(() => undefined)
  // Nothing in the process waits for them.
  wakes.limitTo([])
  child.on('message', (message: FromApart) => {
    if (message.kind === 'wake') return wakes.receive(message.name, message.ids, message.rows)
    if (message.kind === 'log') return logOutput.write(message.line)
    pending.get(message.id)?.resolve(message.end)
    pending.delete(message.id)
    if (pending.size === 0) onDone()
  })
  const ended = new Promise<void>((resolve) => {
    const finish = (end: Readonly<Record<string, unknown>>): void => {
      if (end['code'] !== 0) ctx.log.error(end, 'the process of expensive requests ended')
      wakes.disconnect()
      refuseAll(pending.values())
      resolve()
    }
    child.once('exit', (code, signal) => finish({ code, signal }))
    // It could not be started.
    child.once('error', (err) => finish({ err }))
  })
  return { child, pending, ended }
}
