import { recordOf } from '../records.ts'

/** Counts events since the process started. */
export interface Counters<Name extends string> {
  add(name: Name): void
  read(): Readonly<Record<Name, number>>
}

export function createCounters<Name extends string>(names: readonly Name[]): Counters<Name> {
  const counts = recordOf<Name, number>(names, () => 0)
  return {
    add(name) {
      counts[name] += 1
    },
    read: () => ({ ...counts }),
  }
}
