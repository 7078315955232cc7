import { uuidv7 } from 'uuidv7'
import { type Clock, addMs } from '../../src/platform/time/clock.ts'
import type { LaneClaim } from '../../src/webhooks/delivery/store.ts'

/** Returns a claim of all due lanes by a new run, for a minute. */
export function laneClaim(clock: Clock, changes: Partial<LaneClaim> = {}): LaneClaim {
  return {
    clock,
    runId: uuidv7(),
    leaseUntil: addMs(clock.now(), 60_000),
    limit: 32,
    maxBytes: 4 * 1024 * 1024,
    lanesOf: () => 32,
    held: [],
    busyOrgIds: [],
    onlyWebhookIds: null,
    exceptWebhookIds: [],
    ...changes,
  }
}
