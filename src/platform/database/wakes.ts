/**
 * Hints that there is work in the database. The rows are the truth: every worker also polls, so a lost hint costs one
 * poll interval and no event. Only `sent_commands` is more than a hint: a command that is lost on its way to the gateway has
 * an unknown outcome once its connection ends.
 */
export type WakeName =
  | 'outbox'
  | 'deliveries'
  | 'pings'
  | 'webhook_deletions'
  | 'commands'
  | 'sent_commands'
  | 'mxedges'
  | 'mxedge_registrations'
  | 'rollouts'
  | 'revocations'
  | 'thumbnails'
  | 'changes'

/** A row that the waker has written, with whatever it knows about it. */
export interface WokenRow {
  readonly id: string
}

type Listener = (ids: Iterable<string>, rows: readonly WokenRow[]) => void

export interface Wakes {
  /**
   * Calls `listener` after each wake of `name`, with the ids that the waker named and the rows that it knows; returns a
   * function that stops it.
   */
  on(name: WakeName, listener: Listener): () => void
  /**
   * @param ids The changed rows, where the listener can make use of them.
   * @param rows Those of them that the waker knows; some may be missing.
   */
  wake(name: WakeName, ids?: Iterable<string>, rows?: readonly WokenRow[]): void
  /** Connects the wakes of another thread: `send` gets each wake that has not come from there. */
  connect(send: SendWake): WakePeer
  /** The wakes that have a listener in this thread. */
  listened(): WakeName[]
}

export type SendWake = (name: WakeName, ids: readonly string[], rows: readonly WokenRow[]) => void

/** The connection to the wakes of another thread. */
export interface WakePeer {
  /** Receives a wake from the other thread. */
  receive: SendWake
  /** From now on `send` gets only these wakes: a message wakes the other thread, even if nobody listens there. */
  limitTo(names: readonly WakeName[]): void
  disconnect(): void
}

export function createWakes(): Wakes {
  const listeners = new Map<WakeName, Set<Listener>>()
  /** The peers with the wakes that they get; null for all. */
  const peers = new Map<SendWake, ReadonlySet<WakeName> | null>()

  function publish(
    name: WakeName,
    { ids, rows }: { readonly ids: Iterable<string>; readonly rows: readonly WokenRow[] },
    from: SendWake | null,
  ): void {
    for (const listener of listeners.get(name) ?? []) listener(ids, rows)
    for (const [send, names] of peers) if (send !== from && (names?.has(name) ?? true)) send(name, [...ids], rows)
  }

  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(listener))
      return () => set.delete(listener)
    },
    wake: (name, ids = [], rows = []) => publish(name, { ids, rows }, null),
    listened: () => [...listeners].filter(([, set]) => set.size > 0).map(([name]) => name),
    connect(send) {
      peers.set(send, null)
      return {
        receive: (name, ids, rows) => publish(name, { ids, rows }, send),
        limitTo: (names) => void peers.set(send, new Set(names)),
        disconnect: () => void peers.delete(send),
      }
    },
  }
}

interface CollectedWake {
  readonly ids: Set<string>
  readonly rows: WokenRow[]
}

type CollectedWakes = Map<WakeName, CollectedWake>

const collected = new WeakMap<object, CollectedWakes>()

/**
 * Wakes `name` once `tx` has committed. Outside inTx() there is nothing to wake after, which is a defect.
 * @param ids As in Wakes.wake().
 * @param rows As in Wakes.wake().
 */
export function wakeAfterCommit(
  tx: object,
  name: WakeName,
  ids: readonly string[] = [],
  rows: readonly WokenRow[] = [],
): void {
  const wakes = collected.get(tx)
  if (wakes === undefined) throw new Error('wakeAfterCommit outside inTx')
  const known = wakes.get(name) ?? { ids: new Set(), rows: [] }
  wakes.set(name, known)
  for (const id of ids) known.ids.add(id)
  for (const row of rows) known.rows.push(row)
}

export async function runCollectingWakes<T>(
  run: (collect: (tx: object) => void) => Promise<T>,
): Promise<{ result: T; wakes: ReadonlyMap<WakeName, CollectedWake> }> {
  const wakes: CollectedWakes = new Map()
  const result = await run((tx) => collected.set(tx, wakes))
  return { result, wakes }
}

/**
 * Ends the collection of a transaction that has ended. Otherwise the weak map keeps its wakes until the next full collection of V8,
 * because minor ones don't find out that nothing else refers to the transaction; see decision 322.
 */
export function endCollection(tx: object): void {
  collected.delete(tx)
}

export function publishWakes(target: Wakes, wakes: ReadonlyMap<WakeName, CollectedWake>): void {
  for (const [name, { ids, rows }] of wakes) target.wake(name, ids, rows)
}

/** Publishes the wakes of a transaction that may have committed. Its events have ids only after the commit. */
export function publishUncertainWakes(target: Wakes, tx: object): void {
  for (const [name, { ids }] of collected.get(tx) ?? []) target.wake(name, ids)
  target.wake('outbox')
}
