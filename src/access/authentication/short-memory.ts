import { createHmac, randomBytes } from 'node:crypto'

const REMEMBER_MS = 60_000
const REMEMBER_AT_MOST = 1000

/**
 * Recognizes for a minute the values that it was given. The values can't be read back: the key exists only in this
 * process.
 */
export interface ShortMemory {
  remember(text: string): void
  remembers(text: string): boolean
}

export function createShortMemory(): ShortMemory {
  const key = randomBytes(32)
  const until = new Map<string, number>()
  const memoOf = (text: string): string => createHmac('sha256', key).update(text).digest('base64')
  return {
    remember(text) {
      if (until.size >= REMEMBER_AT_MOST) until.clear()
      until.set(memoOf(text), Date.now() + REMEMBER_MS)
    },
    remembers: (text) => (until.get(memoOf(text)) ?? 0) > Date.now(),
  }
}
