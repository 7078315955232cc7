import { createHmac, randomBytes } from 'node:crypto'

const REMEMBER_MS = 60_000
const REMEMBER_AT_MOST = 1000

/** Remembers for a minute what it was given. Nobody can read it: its key lives in the process alone. */
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
