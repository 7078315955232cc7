export interface PartLimits {
  readonly count: number
  readonly bytes: number
}

/**
 * The rows that one statement writes at most: encoding them holds the event loop, and their values stay in memory until
 * the statement has ended.
 */
const ROWS_PER_STATEMENT = 1000

/** Splits rows into those of one statement each, in order. */
export function splitRows<T>(rows: readonly T[], perPart = ROWS_PER_STATEMENT): (readonly T[])[] {
  if (rows.length <= perPart) return rows.length === 0 ? [] : [rows]
  const count = Math.ceil(rows.length / perPart)
  return Array.from({ length: count }, (_, part) => rows.slice(part * perPart, (part + 1) * perPart))
}

/** Splits rows as splitRows() does, but makes each part only when it is needed. */
export function* splitRowsLazily<T>(rows: Iterable<T>, perPart = ROWS_PER_STATEMENT): Generator<readonly T[]> {
  let part: T[] = []
  for (const row of rows) {
    part.push(row)
    if (part.length < perPart) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

/** Splits a list into parts within the limits, in order. An item that exceeds them becomes a separate part. */
export function splitByBytes<T>(items: readonly T[], sizeOf: (item: T) => number, limits: PartLimits): T[][] {
  return [...splitByBytesLazily(items, sizeOf, limits)]
}

/** Splits items as splitByBytes() does, but makes each part only when it is needed. */
export function* splitByBytesLazily<T>(
  items: Iterable<T>,
  sizeOf: (item: T) => number,
  limits: PartLimits,
): Generator<T[]> {
  let part: T[] = []
  let bytes = 0
  for (const item of items) {
    const size = sizeOf(item)
    if (part.length > 0 && (part.length >= limits.count || bytes + size > limits.bytes)) {
      yield part
      part = []
      bytes = 0
    }
    part.push(item)
    bytes += size
  }
  if (part.length > 0) yield part
}
