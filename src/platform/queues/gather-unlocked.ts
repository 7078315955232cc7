import { AppError } from '../errors.ts'
import { type GatherOptions, type Gatherer, createGatherer } from './gather.ts'
import { lockedPauses } from './locked-pauses.ts'

/** As a Gatherer, for items that change rows which another transaction may have locked. */
export interface UnlockedGatherer<T> extends Gatherer<T> {
  /** Resolves when all items added so far are settled, except those of locked rows. */
  flush(): Promise<void>
  /** Tries once more to write the items of locked rows; those that are still locked are rejected. */
  stop(): Promise<void>
  /** True while items of the row wait for another transaction. */
  isLocked(row: string): boolean
}

type Kept = 'name' | 'log' | 'batch' | 'room' | 'bytesOf' | 'spacing' | 'keepsTrying' | 'onRefused'

export interface UnlockedOptions<T> extends Pick<GatherOptions<T>, Kept> {
  /** Names the row that an item changes. */
  readonly rowOf: (item: T) => string
  /**
   * Writes a batch, in one transaction, except for the items of rows that another transaction has locked, and returns
   * these rows.
   * @param isRepeated True if one of the rows was locked before: don't wait for it again.
   */
  readonly write: (items: readonly T[], isRepeated: boolean) => Promise<ReadonlySet<string>>
}

interface Entry<T> extends PromiseWithResolvers<void> {
  readonly item: T
  readonly row: string
  /** True while it waits for another transaction. */
  isWaiting: boolean
  /** Null: its row has not been locked. */
  nextPauseMs: (() => number) | null
}

/**
 * Gathers items and writes them together, but does not let them wait for a transaction that has locked the row of one
 * of them: the items of that row are written later, in their order.
 */
export function gatherUnlocked<T>({
  rowOf,
  write,
  bytesOf,
  onRefused,
  ...rest
}: UnlockedOptions<T>): UnlockedGatherer<T> {
  /** The items of locked rows, in their order. */
  const locked = new Map<string, Entry<T>[]>()
  const timers = new Set<NodeJS.Timeout>()
  let isStopping = false

  const gatherer: Gatherer<Entry<T>> = createGatherer<Entry<T>>({
    ...rest,
    ...(bytesOf && { bytesOf: ({ item }: Entry<T>) => bytesOf(item) }),
    ...(onRefused && { onRefused: ({ item }: Entry<T>, error: unknown) => onRefused(item, error) }),
    async write(entries) {
      for (const entry of entries) if (locked.has(entry.row)) postpone(entry)
      const due = entries.filter(({ isWaiting }) => !isWaiting)
      if (due.length === 0) return
      const rows = await write(
        due.map(({ item }) => item),
        due.some(({ nextPauseMs }) => nextPauseMs !== null),
      )
      for (const entry of due) if (rows.has(entry.row)) postpone(entry)
    },
  })

  function postpone(entry: Entry<T>): void {
    // A batch that has failed is written again, in halves.
    if (entry.isWaiting) return
    entry.isWaiting = true
    if (isStopping) return lose(entry)
    entry.nextPauseMs ??= lockedPauses()
    const waiting = locked.get(entry.row)
    if (waiting !== undefined) return void waiting.push(entry)
    locked.set(entry.row, [entry])
    const timer = setTimeout(() => void retry(entry.row, timer), entry.nextPauseMs())
    timers.add(timer)
  }

  /** Rejects the entry, as a gatherer rejects entries that it could not write before the stop. */
  function lose({ reject }: Entry<T>): void {
    const error = new AppError('unavailable', 'Another transaction has locked the row')
    const { log, name: what, keepsTrying } = rest
    if (keepsTrying)
      log.error({ err: error, what, items: 1 }, 'A batch could not be written before the stop; it is lost')
    reject(error)
  }

  async function retry(row: string, timer: NodeJS.Timeout): Promise<void> {
    timers.delete(timer)
    // Later items of the row that the gatherer has must not be written before.
    await gatherer.flush()
    release(row)
  }

  function release(row: string): void {
    const entries = locked.get(row) ?? []
    locked.delete(row)
    for (const entry of entries) {
      entry.isWaiting = false
      submit(entry)
    }
  }

  function submit(entry: Entry<T>): void {
    gatherer.add(entry).then(
      () => entry.isWaiting || entry.resolve(),
      (error: unknown) => entry.isWaiting || entry.reject(error),
    )
  }

  return {
    add(item) {
      const entry: Entry<T> = {
        ...{ item, row: rowOf(item), isWaiting: false, nextPauseMs: null },
        ...Promise.withResolvers<void>(),
      }
      // A caller that does not wait must not end the process.
      entry.promise.catch(() => {})
      if (locked.has(entry.row)) postpone(entry)
      else submit(entry)
      return entry.promise
    },
    hasRoom: () => gatherer.hasRoom(),
    flush: () => gatherer.flush(),
    async stop() {
      for (const timer of timers) clearTimeout(timer)
      await gatherer.stop()
      isStopping = true
      for (const row of [...locked.keys()]) release(row)
      await gatherer.flush()
    },
    isLocked: (row) => locked.has(row),
  }
}
