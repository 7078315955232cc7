import type { Context } from '../../platform/context.ts'

const BUSY_MS = 50
/** An idle lane is looked at as often before it may be released. */
const LOOKS_AT_IDLE = 4

/** What is left after a round of aging. `busy`: requests in flight or waiting for a slot; `calm`: only idle lanes. */
export type Left = 'busy' | 'calm' | 'nothing'

interface Aging {
  /** Ages requests and lanes at intervals, as long as there are some. */
  start(): void
  stop(): void
}

interface AgingOptions {
  readonly nowMs: () => number
  /** The age at which a request becomes late. */
  readonly lateMs: number
  /** How long an idle lane is held at least. */
  readonly minIdleMs: number
  /** @param asOfMs Everything that had arrived at this time was read. */
  readonly age: (asOfMs: number) => Left
}

/** While all lanes are idle, each look would wake a process that otherwise rests, so looks are rarer then. */
export function createAging(ctx: Pick<Context, 'log'>, { nowMs, lateMs, minIdleMs, age }: AgingOptions): Aging {
  // A request that starts just after a look is seen by the next one before it is late.
  const calmMs = Math.max(BUSY_MS, Math.min(lateMs, minIdleMs / LOOKS_AT_IDLE))
  let timer: NodeJS.Timeout | null = null
  let isCalm = false
  let isStopped = false

  function start(): void {
    // A lane that is added may wait for a slot.
    if (isCalm && timer !== null) clearTimeout(timer)
    if (isCalm || timer === null) schedule('busy')
  }

  function schedule(left: Left): void {
    if (isStopped || left === 'nothing') return
    isCalm = left === 'calm'
    timer = setTimeout(tickSoon, isCalm ? calmMs : BUSY_MS)
  }

  /** After a pause of the whole process, waiting answers are read before any request is aborted. */
  function tickSoon(): void {
    isCalm = false
    const asOfMs = nowMs()
    setImmediate(() => tick(asOfMs))
  }

  function tick(asOfMs: number): void {
    timer = null
    if (isStopped) return
    let left: Left = 'busy'
    try {
      left = age(asOfMs)
    } catch (error) {
      ctx.log.error({ err: error }, 'lanes could not be aged; trying again')
    }
    if (timer === null) schedule(left)
  }

  return {
    start,
    stop() {
      isStopped = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
