import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx, onQueues } from '../../platform/database/db.ts'
import type { HeldLanes } from '../lanes/held/held-lanes.ts'
import { LEASE_MS } from '../lanes/held/lane-lease.ts'
import type { Admission, Vacancy } from './admission/admission.ts'
import type { Flusher } from './flush.ts'
import { type Claimed, claimLanes, findNextDue } from './store.ts'
import type { StrayLeases } from './stray-leases.ts'

const MAX_LANES_PER_CLAIM = 32
const MAX_BYTES_PER_CLAIM = 4 * 1024 * 1024
/** The pause before lanes are checked again that are due but whose organization has used up its share. */
const BUSY_PAUSE_MS = 100

/** Claims lanes that are due. */
export interface Claimer {
  /** Claims as many as there is room for. @returns True if there are more now, or when it must be called again. */
  claimDue(): Promise<boolean | Date | null>
  /** Does the same as DirectDelivery.vtimeFloor(). */
  readonly vtimeFloor: () => number
}

interface ClaimerOptions {
  readonly runId: string
  readonly admission: Pick<Admission, 'vacancy'>
  readonly flusher: Pick<Flusher, 'hasRoom'>
  /** Get the claimed ones. */
  readonly lanes: Pick<HeldLanes, 'beginClaim' | 'hold'>
  readonly stray: StrayLeases
}

export function createClaimer(ctx: Context, { runId, admission, flusher, lanes, stray }: ClaimerOptions): Claimer {
  let vtimeFloor = 0

  async function claim({ lanes: count, bytes, ...of }: Vacancy, now: Date): Promise<Claimed> {
    const limit = Math.min(count, MAX_LANES_PER_CLAIM)
    const maxBytes = Math.min(bytes, MAX_BYTES_PER_CLAIM)
    if (limit === 0 || maxBytes === 0 || of.onlyWebhookIds?.length === 0) return { lanes: [], hasMore: false }
    const leaseUntil = addMs(now, LEASE_MS)
    lanes.beginClaim()
    const claiming = inTx(onQueues(ctx), (tx) =>
      claimLanes(tx, { clock: ctx.clock, runId, leaseUntil, limit, maxBytes, ...of }),
    )
    const claimed = await claiming.catch((error: unknown) => {
      // The claim may have been committed all the same.
      stray.note()
      throw error
    })
    for (const lane of claimed.lanes) {
      vtimeFloor = Math.max(vtimeFloor, lane.vtime)
      // What a round of the router with an unknown outcome has routed meanwhile is not among its messages.
      lanes.hold(stray.mayExist() ? { ...lane, hasAll: false } : lane)
    }
    return claimed
  }

  return {
    async claimDue() {
      await stray.release()
      // The end of a lane's turn wakes the worker, so it checks again when there is room.
      if (!flusher.hasRoom()) return null
      const now = ctx.clock.now()
      const due = await findNextDue(ctx.queueDb)
      if (due === null || due > now) return due
      const fast = await claim(admission.vacancy('fast'), now)
      const slow = await claim(admission.vacancy('slow'), now)
      if (fast.hasMore || slow.hasMore) return true
      const next = await findNextDue(ctx.queueDb)
      const soonest = addMs(now, BUSY_PAUSE_MS)
      return next === null || next > soonest ? next : soonest
    },
    vtimeFloor: () => vtimeFloor,
  }
}
