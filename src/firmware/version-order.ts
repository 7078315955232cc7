/**
 * Orders versions of devices naturally: runs of digits compare as numbers, so 0.14.9 is below 0.14.10. Packages have an order of
 * their own; see packages/compare-versions.ts.
 */
export function compareVersions(a: string, b: string): number {
  const left = a.match(/\d+|\D+/g) ?? []
  const right = b.match(/\d+|\D+/g) ?? []
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const order = comparePart(left[index] ?? '', right[index] ?? '')
    if (order !== 0) return order
  }
  return left.length - right.length || compareText(a, b)
}

function comparePart(a: string, b: string): number {
  if (!/^\d/.test(a) || !/^\d/.test(b)) return compareText(a, b)
  const left = BigInt(a)
  const right = BigInt(b)
  if (left === right) return 0
  return left < right ? -1 : 1
}

export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Versions of different products differ in the text before the first number. */
export function areComparable(a: string, b: string): boolean {
  return prefixOf(a) === prefixOf(b)
}

function prefixOf(version: string): string {
  return /^\D*/.exec(version)?.[0] ?? ''
}
