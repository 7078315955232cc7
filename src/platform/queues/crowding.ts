import type { ServiceClock } from '../time/service-clock.ts'

/**
 * Remembers when the HTTP port last turned a client away because it had no room for it, or because the store of images did not
 * work. Devices report only that their download failed, so this shows whether the server was the reason.
 */
export interface Crowding {
  /** Records that a connection or a download was refused for one of these reasons. */
  note(): void
  /** Service time; null: not since the start. */
  lastMs(): number | null
}

export function createCrowding(clock: Pick<ServiceClock, 'nowMs'>): Crowding {
  let lastMs: number | null = null
  return {
    note() {
      lastMs = clock.nowMs()
    },
    lastMs: () => lastMs,
  }
}
