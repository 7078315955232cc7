import { isPassingError } from '../database/database-errors.ts'
import type { Logger } from '../log.ts'
import { pause } from '../time/pause.ts'
import { Spacing, type SpacingLimits } from './spacing.ts'
import type { PartLimits } from '../database/split.ts'

/** Gathers items in memory for a moment and writes them together, in the order of their arrival, one batch at a time. */
export interface Gatherer<T> {
  /**
   * Resolves once the item is written. Rejects when the database refuses the item, and when it could not be written
   * before the stop or, without `keepsTrying`, at all. A caller that does not wait may ignore the promise.
   */
  add(item: T): Promise<void>
  /**
   * False while so much is unwritten that the caller should produce no more. Items that are added anyway are accepted.
   */
  hasRoom(): boolean
  /**
   * Writes the waiting items without waiting for more. Resolves when all items added so far are settled; never rejects.
   */
  flush(): Promise<void>
  /** As `flush`, but from now on a failed write is not repeated. Items that are added later are written without waiting for more. */
  stop(): Promise<void>
}

export type GatherOptions<T> = BatchOptions<T> & BatchTiming

interface BatchOptions<T> {
  /** Names the items in the log. */
  readonly name: string
  readonly log: Logger
  /** Writes a batch, in one transaction: when it throws, nothing of the batch must have been written. */
  readonly write: (items: readonly T[]) => Promise<void>
  /** Limits a batch. An item that is larger than a batch is written alone. */
  readonly batch: PartLimits
  /** The bytes of an item, for the limits. Without it an item has none. */
  readonly bytesOf?: (item: T) => number
  /** The number of items that may wait or be written before `hasRoom` is false. Default: no limit. */
  readonly room?: PartLimits
  /** Items with an equal key never share a batch. Keys are compared as those of a Map. */
  readonly keyOf?: (item: T) => unknown
  /** An item replaces the one of its key that waits, and both count as written with it. Requires `keyOf`. */
  readonly keepsLast?: boolean
  /**
   * True: a write that fails because the database is down or busy is repeated until the stop, since the items exist
   * nowhere else. False: it is not, and the callers decide.
   */
  readonly keepsTrying: boolean
  /**
   * After an item that the database refuses, later items of its series are refused as well, because they depend on it.
   */
  readonly seriesOf?: (item: T) => object
  /** Called for an item that the database refuses. The other items of its batch are written. */
  readonly onRefused?: (item: T, error: unknown) => void
}

/**
 * How long items wait for more. Default: a turn of the event loop, which reads the input that has already arrived; items
 * that arrive during a write join the next one.
 */
type BatchTiming =
  | {
      /**
       * The first item of a batch waits until `count` items wait, but at most this long, or, if it arrives during a
       * write, this long after it.
       */
      readonly wait?: { readonly ms: number; readonly count: number }
      readonly spacing?: never
    }
  | {
      /** While many items arrive, batches that are not full keep this distance. */
      readonly spacing?: SpacingLimits
      readonly wait?: never
    }

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 3000
const withoutLimit: PartLimits = { count: Infinity, bytes: Infinity }

interface Waiting<T> extends PromiseWithResolvers<void> {
  item: T
  bytes: number
}

export function createGatherer<T>(options: GatherOptions<T>): Gatherer<T> {
  const { room = withoutLimit, wait = null, bytesOf = () => 0 } = options
  const spacing = options.spacing === undefined ? null : new Spacing(options.spacing)
  const stopping = new AbortController()
  const settle = createSettler(options, stopping.signal)
  const waiting: Waiting<T>[] = []
  const lastByKey = new Map<unknown, Waiting<T>>()
  const unwritten = { count: 0, bytes: 0 }
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  /** How many of the waiting items are to be written without waiting for more. */
  let hurried = 0
  /** Items settle in their order, so all are settled when the newest one is. */
  let newest: Promise<void> = Promise.resolve()

  /** How long the waiting items wait for more, unless they are hurried. */
  function waitMs(): number {
    if (stopping.signal.aborted) return 0
    if (wait !== null) return waiting.length >= wait.count ? 0 : wait.ms
    if (spacing === null || waiting.length >= options.batch.count) return 0
    return Math.floor(spacing.pauseMs(performance.now()))
  }

  /** True if items are to be written now. */
  function isDue(): boolean {
    return waiting.length > 0 && (hurried > 0 || waitMs() === 0)
  }

  async function drain(): Promise<void> {
    if (wait === null) await new Promise((resolve) => setImmediate(resolve))
    while (isDue()) {
      spacing?.start(performance.now())
      const batch = waiting.splice(0, batchLength(waiting, options))
      hurried = Math.max(hurried - batch.length, 0)
      if (options.keepsLast === true) for (const { item } of batch) lastByKey.delete(options.keyOf?.(item))
      await settle(batch)
      unwritten.count -= batch.length
      for (const { bytes } of batch) unwritten.bytes -= bytes
    }
    running = null
    if (waiting.length > 0) startTimer()
  }

  function startTimer(): void {
    timer ??= setTimeout(() => void flush(), waitMs())
  }

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    hurried = waiting.length
    if (waiting.length > 0) running ??= drain()
    return newest.catch(() => {})
  }

  function enqueue(item: T, bytes: number): Waiting<T> {
    const one = { item, bytes, ...Promise.withResolvers<void>() }
    // A caller that does not wait must not end the process.
    one.promise.catch(() => {})
    newest = one.promise
    if (options.keepsLast === true) lastByKey.set(options.keyOf?.(item), one)
    waiting.push(one)
    unwritten.count += 1
    unwritten.bytes += bytes
    return one
  }

  return {
    add(item) {
      const bytes = bytesOf(item)
      const last = options.keepsLast === true ? lastByKey.get(options.keyOf?.(item)) : undefined
      if (last !== undefined) {
        unwritten.bytes += bytes - last.bytes
        Object.assign(last, { item, bytes })
        return last.promise
      }
      const { promise } = enqueue(item, bytes)
      spacing?.add(performance.now())
      if (waitMs() === 0) void flush()
      else if (running === null) startTimer()
      return promise
    },
    hasRoom: () => unwritten.count < room.count && unwritten.bytes < room.bytes,
    flush,
    stop() {
      stopping.abort()
      return flush()
    },
  }
}

/** @returns The number of waiting items in the next batch: at least one. */
function batchLength<T>(waiting: readonly Waiting<T>[], { batch, keyOf }: GatherOptions<T>): number {
  const keys = new Set<unknown>()
  let [count, sum] = [0, 0]
  for (const { item, bytes } of waiting) {
    if (count > 0 && (count >= batch.count || sum + bytes > batch.bytes)) break
    if (keyOf !== undefined) {
      const key = keyOf(item)
      if (keys.has(key)) break
      keys.add(key)
    }
    count += 1
    sum += bytes
  }
  return count
}

/**
 * Returns a function that writes a batch, settles each of its items and never throws. A batch that fails is halved
 * until the items that the database refuses are isolated, so that no other item has to wait for them.
 */
function createSettler<T>(
  options: GatherOptions<T>,
  stopping: AbortSignal,
): (batch: readonly Waiting<T>[]) => Promise<void> {
  const { name, log, keepsTrying, seriesOf, onRefused } = options
  /** The series that has ended, and why. */
  const ended = new WeakMap<object, unknown>()

  async function write(batch: readonly Waiting<T>[]): Promise<void> {
    const items = batch.map(({ item }) => item)
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        await options.write(items)
        return
      } catch (error) {
        if (!keepsTrying || stopping.aborted || !isPassingError(error)) throw error
        log.warn({ err: error, what: name, items: items.length }, 'A batch could not be written; trying again')
        await pause(pauseMs, stopping)
      }
    }
  }

  function refuse({ item, reject }: Waiting<T>, error: unknown): void {
    const series = seriesOf?.(item)
    if (series !== undefined) ended.set(series, error)
    onRefused?.(item, error)
    reject(error)
  }

  function continuesSeries({ item, reject }: Waiting<T>): boolean {
    const series = seriesOf?.(item)
    if (series === undefined || !ended.has(series)) return true
    reject(ended.get(series))
    return false
  }

  return async function settle(batch) {
    const open = batch.filter(continuesSeries)
    if (open.length === 0) return
    try {
      await write(open)
      for (const { resolve } of open) resolve()
    } catch (error) {
      const [only, ...others] = open
      if (keepsTrying && isPassingError(error)) {
        log.error(
          { err: error, what: name, items: open.length },
          'A batch could not be written before the stop; it is lost',
        )
        for (const { reject } of open) reject(error)
      } else if (only !== undefined && others.length === 0) {
        refuse(only, error)
      } else {
        const half = Math.ceil(open.length / 2)
        await settle(open.slice(0, half))
        await settle(open.slice(half))
      }
    }
  }
}
