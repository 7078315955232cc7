import type { Context } from '../../platform/context.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { HeldLanes } from '../lanes/held/held-lanes.ts'
import { LEASE_MS } from '../lanes/held/lane-lease.ts'
import type { LaneKey } from '../lanes/store.ts'
import type { Acceptance } from '../lanes/held/waiting-messages.ts'
import type { DirectLane, DirectLease } from '../routing/store-routed.ts'
import type { NewMessage } from '../store.ts'
import type { Flusher } from './flush.ts'
import type { DueMessage } from './store-due.ts'
import type { StrayLeases } from './stray-leases.ts'

/** Sends messages that have just been routed, without a claim. Their rows stay the truth: a crash loses nothing. */
export interface DirectDelivery {
  /**
   * Returns how to lease idle lanes for their new messages; null while nothing more may be started. Either take() or
   * releaseStray() must follow.
   */
  lease(): DirectLease | null
  /** The time that the lanes which are served now have used. */
  vtimeFloor(): number
  /** Accepts lanes that routeMessages has returned, and all new messages. */
  take(lanes: readonly DirectLane[], messages: readonly NewMessage[]): void
  /**
   * Accepts a message that is not in the database, if its lane is held and has room. It is sent after those that wait.
   * `onEnd` is called once, if it is accepted, perhaps before this function returns.
   */
  accept(lane: LaneKey, message: DueMessage, acceptance: Acceptance): boolean
  /** How many events of a backlog the lane of a webhook accepts now; null if they have to be routed. */
  roomForBacklog(webhookId: string): number | null
  /** Calls `onRoom` once when the held lane of a webhook accepts `events` events of a backlog, or when they have to be routed. */
  awaitRoom(webhookId: string, events: number, onRoom: () => void): void
  /**
   * Repairs what a transaction may have left whose outcome is unknown: leases without a holder, and messages of open
   * lanes that are not in memory.
   */
  releaseStray(): void
}

interface DirectOptions {
  readonly runId: string
  readonly flusher: Pick<Flusher, 'hasRoom'>
  readonly lanes: HeldLanes
  readonly stray: StrayLeases
  readonly vtimeFloor: () => number
}

/** @returns In addition `close`, from which on it accepts nothing. */
export function createDirectDelivery(
  ctx: Context,
  { runId, flusher, lanes, stray, vtimeFloor }: DirectOptions,
): DirectDelivery & { close(): void } {
  let closed = false
  return {
    lease() {
      if (closed || !flusher.hasRoom() || !stray.beginGiving()) return null
      return { runId, until: addMs(ctx.clock.now(), LEASE_MS), lend: (lane, wanted) => lanes.lend(lane, wanted) }
    },
    vtimeFloor,
    take(direct, messages) {
      if (stray.areGiven()) lanes.take(direct, messages)
      else lanes.miss(messages)
      lanes.endLoans(direct)
      stray.endGiving()
      if (stray.mayExist()) ctx.wakes.wake('deliveries')
    },
    accept: (lane, message, acceptance) => !closed && lanes.accept(lane, message, acceptance),
    roomForBacklog: (webhookId) => (closed ? null : lanes.roomForBacklog(webhookId)),
    awaitRoom: (webhookId, events, onRoom) => lanes.awaitRoom(webhookId, events, onRoom),
    releaseStray() {
      stray.endGiving()
      stray.note()
      lanes.close(lanes.ids())
      lanes.endLoans(null)
      ctx.wakes.wake('deliveries')
    },
    close() {
      closed = true
    },
  }
}
