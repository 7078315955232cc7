import type { Context } from '../../platform/context.ts'

const AGING_MS = 50

interface Aging {
  /** Ages requests and lanes at intervals, as long as there are some. */
  start(): void
  stop(): void
}

/** @param age Returns false when nothing is left. Everything that had arrived at `asOfMs` was read. */
export function createAging(ctx: Context, nowMs: () => number, age: (asOfMs: number) => boolean): Aging {
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function start(): void {
    if (!isStopped) timer ??= setTimeout(tickSoon, AGING_MS)
  }

  /** After a pause of the whole process, waiting answers are read before any request is aborted. */
  function tickSoon(): void {
    const asOfMs = nowMs()
    setImmediate(() => tick(asOfMs))
  }

  function tick(asOfMs: number): void {
    timer = null
    if (isStopped) return
    let isLeft = true
    try {
      isLeft = age(asOfMs)
    } catch (error) {
      ctx.log.error({ err: error }, 'lanes could not be aged; trying again')
    }
    if (isLeft) start()
  }

  return {
    start,
    stop() {
      isStopped = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
