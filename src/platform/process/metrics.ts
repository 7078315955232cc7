/** Counts events since the process started. */
export interface Counters<Name extends string> {
  add(name: Name): void
  read(): Readonly<Record<Name, number>>
}

export function createCounters<Name extends string>(names: readonly Name[]): Counters<Name> {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number> // fromEntries loses the type of the keys.
  return {
    add(name) {
      counts[name] += 1
    },
    read: () => ({ ...counts }),
  }
}
