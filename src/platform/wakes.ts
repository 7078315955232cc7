/**
 * In-process hints that there is work in the database. The rows are the truth: every worker also
 * polls, so a lost hint costs a poll interval, never an event.
 */
export type WakeName = 'outbox' | 'deliveries' | 'commands' | 'rollouts' | 'thumbnails'

export interface Wakes {
  /** Calls `listener` after each wake of `name`; returns the way to stop it. */
  on(name: WakeName, listener: () => void): () => void
  wake(name: WakeName): void
}

export function createWakes(): Wakes {
  const listeners = new Map<WakeName, Set<() => void>>()
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(listener))
      return () => set.delete(listener)
    },
    wake(name) {
      for (const listener of listeners.get(name) ?? []) listener()
    },
  }
}

const collected = new WeakMap<object, Set<WakeName>>()

/** Wakes `name` once `tx` has committed. Outside `inTx` there is nothing to wake after: a defect. */
export function wakeAfterCommit(tx: object, name: WakeName): void {
  const set = collected.get(tx)
  if (set === undefined) throw new Error('wakeAfterCommit outside inTx')
  set.add(name)
}

export async function runCollectingWakes<T>(
  run: (collect: (tx: object) => void) => Promise<T>,
): Promise<{ result: T; wakes: ReadonlySet<WakeName> }> {
  const wakes = new Set<WakeName>()
  const result = await run((tx) => collected.set(tx, wakes))
  return { result, wakes }
}

export function publishWakes(target: Wakes, wakes: ReadonlySet<WakeName>): void {
  for (const name of wakes) target.wake(name)
}
