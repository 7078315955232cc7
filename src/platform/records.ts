/** Returns the keys of an object that has no others than its type declares, which Object.keys() loses. */
export function keysOf<T extends object>(record: T): (keyof T & string)[] {
  return Object.keys(record) as (keyof T & string)[]
}

/** Makes an object with a value for each of the names. Object.fromEntries() would lose them from its type. */
export function recordOf<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Returns a copy without the members whose value is undefined, so that a document has none of them. */
export function withoutUndefined<T extends object>(members: T): Defined<T> {
  const known: Record<string, unknown> = {}
  // A list of entries would cost more than all the rest of the decoding of a report.
  for (const name in members) {
    const value: unknown = members[name]
    if (value !== undefined) known[name] = value
  }
  return known as Defined<T>
}
