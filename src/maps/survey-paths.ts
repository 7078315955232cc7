import { uuidv7 } from '../platform/uuidv7.ts'
import { isObject } from '../platform/json/is-object.ts'

type Path = Readonly<Record<string, unknown>>

/**
 * Gives an id to each survey path that has none. A path that the map already has keeps its id, so that a client that
 * does not know ids may write the same paths again.
 */
export function identifyPaths(before: unknown, sent: readonly unknown[]): unknown[] {
  const given = new Set(sent.filter(isObject).map(({ id }) => id))
  const known = (Array.isArray(before) ? before : []).filter(isObject)
  const free = Map.groupBy(
    known.filter(({ id }) => isSet(id) && !given.has(id)),
    contentOf,
  )
  return sent.map((path) => {
    if (!isObject(path) || isSet(path['id'])) return path
    const same = free.get(contentOf(path))?.shift()
    return { ...withoutId(path), id: same?.['id'] ?? uuidv7() }
  })
}

/** Null and an empty text are ignored: typed clients send them for fields that they have not read. */
function isSet(id: unknown): boolean {
  return id !== undefined && id !== null && id !== ''
}

/** Equal for paths that differ only in their ids, whatever the order of their members. */
function contentOf(path: Path): string {
  return JSON.stringify(withoutId(path), (_, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value,
  )
}

function withoutId({ id: _id, ...path }: Path): Path {
  return path
}
