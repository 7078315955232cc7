/**
 * Leases of this process that no lane holds may exist after a transaction whose outcome is unknown. They are released, but
 * not while leases are given to lanes that the process does not know yet, because these are not stray.
 */
export interface StrayLeases {
  mayExist(): boolean
  /** Some may exist from now on. */
  note(): void
  /** True while leases are being given. */
  areGiven(): boolean
  /** Begins to give leases. endGiving() must follow. @returns False while stray ones are released: then it does nothing. */
  beginGiving(): boolean
  endGiving(): void
  /** Releases those that may exist, unless leases are being given. If that fails, some may still exist. */
  release(): Promise<void>
}

/** @param releaseAll Releases all leases of this process that no lane holds. */
export function createStrayLeases(releaseAll: () => Promise<unknown>): StrayLeases {
  let mayExist = false
  let areGiven = false
  let areReleased = false
  return {
    mayExist: () => mayExist,
    note() {
      mayExist = true
    },
    areGiven: () => areGiven,
    beginGiving() {
      areGiven = !areReleased
      return areGiven
    },
    endGiving() {
      areGiven = false
    },
    async release() {
      if (!mayExist || areGiven) return
      mayExist = false
      areReleased = true
      try {
        await releaseAll()
      } catch (error) {
        mayExist = true
        throw error
      } finally {
        areReleased = false
      }
    },
  }
}
