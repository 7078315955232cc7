import { grouped } from './counted.ts'

/** Returns the words of a button that shows more of a list. */
export function showText(next: number, total: number): string {
  return total > next ? `Show ${grouped(next)} of ${grouped(total)}` : `Show all ${grouped(total)}`
}
