import type { Logger } from '../platform/log.ts'
import { nameLateStop } from '../platform/time/late-stop.ts'
import { pause } from '../platform/time/pause.ts'

/** Stops a part. @param withinMs The part ends by force what has not ended until then. */
export type StopPart = (withinMs: number) => Promise<void> | void

export interface CloseOptions {
  /** The time that all parts have together. */
  readonly withinMs: number
  /** Gets the names of parts whose stop takes long or fails. */
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** The started parts, to be stopped in the opposite order. */
export interface Closing {
  /**
   * Registers how to stop a part that has just been started.
   * @param reserveMs The time that parts which stop before this one leave to it. Default 100.
   */
  add(name: string, stop: StopPart, reserveMs?: number): void
  /**
   * Stops everything, newest first. Each part gets the time that is left, less the reserves of those after it, but at least
   * its own reserve. A part that fails to stop, or does not stop within its time, does not prevent the others from stopping.
   */
  close(options: CloseOptions): Promise<void>
}

const RESERVE_MS = 100
/** A part that ends something by force needs a moment for that. */
const OWN_SHARE = 0.9

interface Started {
  readonly name: string
  readonly stop: StopPart
  readonly reserveMs: number
}

export function createClosing(): Closing {
  const started: Started[] = []
  return {
    add(name, stop, reserveMs = RESERVE_MS) {
      started.push({ name, stop, reserveMs })
    },
    async close({ withinMs, log, now = () => performance.now() }) {
      const endMs = now() + withinMs
      for (let last = started.pop(); last !== undefined; last = started.pop()) {
        const reservedMs = started.reduce((sum, { reserveMs }) => sum + reserveMs, 0)
        try {
          await stopWithin(last, log, Math.max(endMs - now() - reservedMs, last.reserveMs))
        } catch (error) {
          log.error({ part: last.name, err: error }, 'did not stop cleanly')
        }
      }
    },
  }
}

/** @throws Error if the part has not stopped within the time; the error of the part if it fails. */
async function stopWithin({ name, stop }: Started, log: Pick<Logger, 'warn'>, withinMs: number): Promise<void> {
  const stopped = Promise.resolve(stop(withinMs * OWN_SHARE))
  const settled = new AbortController()
  let isStopped = false
  const end = (): void => {
    isStopped = true
    settled.abort()
  }
  void stopped.then(end, end)
  await nameLateStop(log, name, pause(withinMs, settled.signal))
  if (!isStopped) throw new Error(`had not stopped after ${Math.round(withinMs)} ms`)
  await stopped
}
