/**
 * Hints that there is work in the database. The rows are the truth: every worker also polls, so a lost hint costs one
 * poll interval and no event.
 */
export type WakeName =
  | 'outbox'
  | 'deliveries'
  | 'commands'
  | 'mxedges'
  | 'mxedge_registrations'
  | 'rollouts'
  | 'revocations'
  | 'thumbnails'
  | 'changes'

type Listener = (ids: Iterable<string>) => void

export interface Wakes {
  /**
   * Calls `listener` after each wake of `name`, with the ids that the waker named; returns a function that stops it.
   */
  on(name: WakeName, listener: Listener): () => void
  /** @param ids The changed rows, where the listener can make use of them. */
  wake(name: WakeName, ids?: Iterable<string>): void
  /** Connects the wakes of another thread: `send` gets each wake that has not come from there. */
  connect(send: SendWake): WakePeer
  /** The wakes that have a listener in this thread. */
  listened(): WakeName[]
}

export type SendWake = (name: WakeName, ids: readonly string[]) => void

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

  function publish(name: WakeName, ids: Iterable<string>, from: SendWake | null): void {
    for (const listener of listeners.get(name) ?? []) listener(ids)
    for (const [send, names] of peers) if (send !== from && (names?.has(name) ?? true)) send(name, [...ids])
  }

  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(listener))
      return () => set.delete(listener)
    },
    wake: (name, ids = []) => publish(name, ids, null),
    listened: () => [...listeners].filter(([, set]) => set.size > 0).map(([name]) => name),
    connect(send) {
      peers.set(send, null)
      return {
        receive: (name, ids) => publish(name, ids, send),
        limitTo: (names) => void peers.set(send, new Set(names)),
        disconnect: () => void peers.delete(send),
      }
    },
  }
}

type CollectedWakes = Map<WakeName, Set<string>>

const collected = new WeakMap<object, CollectedWakes>()

/**
 * Wakes `name` once `tx` has committed. Outside inTx() there is nothing to wake after, which is a defect.
 * @param ids As in Wakes.wake().
 */
export function wakeAfterCommit(tx: object, name: WakeName, ids: readonly string[] = []): void {
  const wakes = collected.get(tx)
  if (wakes === undefined) throw new Error('wakeAfterCommit outside inTx')
  const known = wakes.get(name) ?? new Set()
  wakes.set(name, known)
  for (const id of ids) known.add(id)
}

export async function runCollectingWakes<T>(
  run: (collect: (tx: object) => void) => Promise<T>,
): Promise<{ result: T; wakes: ReadonlyMap<WakeName, ReadonlySet<string>> }> {
  const wakes: CollectedWakes = new Map()
  const result = await run((tx) => collected.set(tx, wakes))
  return { result, wakes }
}

export function publishWakes(target: Wakes, wakes: ReadonlyMap<WakeName, ReadonlySet<string>>): void {
  for (const [name, ids] of wakes) target.wake(name, ids)
}
