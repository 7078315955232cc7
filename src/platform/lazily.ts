/** Something that costs memory or time to open, and that many processes never need. */
export interface Lazy<T> {
  /** Opens it on the first call. */
  get(): Promise<T>
  /** The open value, or the one being opened; null before the first call. */
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
