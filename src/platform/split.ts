export interface PartLimits {
  readonly count: number
  readonly bytes: number
}

/** Splits a list into parts within the limits, in order. An item that exceeds them becomes a separate part. */
export function splitByBytes<T>(items: readonly T[], sizeOf: (item: T) => number, limits: PartLimits): T[][] {
  const parts: T[][] = []
  let bytes = 0
  for (const item of items) {
    const size = sizeOf(item)
    const last = parts.at(-1)
    if (last === undefined || last.length >= limits.count || bytes + size > limits.bytes) {
      parts.push([item])
      bytes = size
    } else {
      last.push(item)
      bytes += size
    }
  }
  return parts
}
