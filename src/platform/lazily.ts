/** Something that costs memory or time to open, and that many a process never needs. */
export interface Lazy<T> {
  /** Opens it, the first time. */
  get(): Promise<T>
  /** What was opened, or is being opened; null when nobody has asked yet. */
  readonly opened: Promise<T> | null
}

export function lazily<T>(open: () => Promise<T>): Lazy<T> {
  let opened: Promise<T> | null = null
  return {
    get: () => (opened ??= open()),
    get opened() {
      return opened
    },
  }
}
