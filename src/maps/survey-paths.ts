import { isDeepStrictEqual } from 'node:util'
import { uuidv7 } from 'uuidv7'
import { isObject } from '../platform/is-object.ts'

type Path = Readonly<Record<string, unknown>>

/**
 * Gives an id to each survey path that has none. One that the map already has keeps its id, so that a client that does
 * not know ids may write the same paths again.
 */
export function identifyPaths(before: unknown, sent: readonly unknown[]): unknown[] {
  const given = new Set(sent.filter(isObject).map(({ id }) => id))
  const known = (Array.isArray(before) ? before : []).filter(isObject).filter(({ id }) => !given.has(id))
  return sent.map((path) => {
    if (!isObject(path) || isSet(path['id'])) return path
    const place = known.findIndex((one) => isSet(one['id']) && isDeepStrictEqual(withoutId(one), withoutId(path)))
    const [same] = place === -1 ? [] : known.splice(place, 1)
    return { ...withoutId(path), id: same?.['id'] ?? uuidv7() }
  })
}

/** Null and an empty text say nothing: typed clients send one for a field that they have not read. */
function isSet(id: unknown): boolean {
  return id !== undefined && id !== null && id !== ''
}

function withoutId({ id: _id, ...path }: Path): Path {
  return path
}
