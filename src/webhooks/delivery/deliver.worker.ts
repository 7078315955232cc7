import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../platform/context.ts'
import { addMs } from '../../platform/time/clock.ts'
import { inTx, onQueues } from '../../platform/database/db.ts'
import { nameLateStop } from '../../platform/time/late-stop.ts'
import { startPoller } from '../../platform/time/poller.ts'
import type { PartLimits } from '../../platform/database/split.ts'
import { type Caps, type Vacancy, createAdmission } from './admission.ts'
import type { WebhookCounters } from '../counters.ts'
import type { DeliverOptions } from '../requests/receiver.ts'
import { createFlusher } from './flush.ts'
import { createClockFollower } from './follow-clock.ts'
import type { WebhookLimits } from '../limits.ts'
import { createHeldLanes } from '../lanes/held-lanes.ts'
import { LEASE_MS } from '../lanes/lane-lease.ts'
import { createAging } from './aging.ts'
import { createStrayLeases } from './stray-leases.ts'
import { type Claimed, type DueMessage, claimLanes, findNextDue } from './store.ts'
import type { DirectLane, DirectLease } from '../routing/store-routed.ts'
import { type LaneKey, releaseStrayLeases } from '../lanes/store.ts'
import type { NewMessage } from '../store.ts'
import type { Acceptance } from '../lanes/waiting-messages.ts'

export interface DeliverWorkerOptions extends DeliverOptions {
  /** Identifies this run of the server in its leases. */
  readonly runId: string
  readonly caps: Caps
  /** Requests become late and slow by this clock. It must not count time in which the process did not run. */
  readonly monotonicMs: () => number
  /** See WebhookWorkerOptions. */
  readonly laneMs: () => number
  /** By how much the clock was set back while the service did not run. */
  readonly startBackMs: number
  readonly maxUnwritten: PartLimits
  /** How long an idle lane is held at least. */
  readonly minIdleMs: number
  readonly limits: WebhookLimits
  readonly counters: WebhookCounters
}

const INTERVAL_MS = 1000
/** Wake-ups within this time share a claim. */
const MIN_GAP_MS = 2
const MAX_LANES_PER_CLAIM = 32
const MAX_BYTES_PER_CLAIM = 4 * 1024 * 1024
/** The pause before lanes are checked again that are due but whose organization has used up its share. */
const BUSY_PAUSE_MS = 100
/** At a stop, requests in flight have this long to end; one that is aborted is sent again after the next start. */
const GRACE_MS = 2000

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
  /** Calls `onRoom` once when the held lane of a webhook accepts so many events of a backlog, or none. */
  awaitRoom(webhookId: string, events: number, onRoom: () => void): void
  /**
   * Repairs what a transaction may have left whose outcome is unknown: leases without a holder, and messages of open
   * lanes that are not in memory.
   */
  releaseStray(): void
}

export interface DeliverWorker extends DirectDelivery {
  stop(withinMs?: number): Promise<void>
}

/**
 * Sends messages, as many concurrently as the caps allow: those that `take` passes, and those of the lanes that it
 * claims.
 */
export function startDeliverWorker(ctx: Context, options: DeliverWorkerOptions): DeliverWorker {
  const { runId } = options
  const admission = createAdmission({
    caps: options.caps,
    nowMs: options.monotonicMs,
    onVacancy: () => ctx.wakes.wake('deliveries'),
  })
  const stray = createStrayLeases(() =>
    inTx(ctx, (tx) => releaseStrayLeases(tx, { ofRunId: runId, except: lanes.keys() })),
  )
  const flusher = createFlusher(ctx, options.counters, {
    maxUnwritten: options.maxUnwritten,
    onLeasesLeft() {
      stray.note()
      ctx.wakes.wake('deliveries')
    },
  })
  const lanes = createHeldLanes(ctx, { ...options, flusher, admission, onHold: () => aging.start() })
  let vtimeFloor = 0
  let stopping = false

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

  const followClock = createClockFollower(ctx, options)

  async function work(): Promise<boolean | Date | null> {
    const isFollowing = await followClock()
    const next = await claimDue()
    return isFollowing ? true : next
  }

  async function claimDue(): Promise<boolean | Date | null> {
    await stray.release()
    // The end of a lane's turn wakes this worker, so it checks again when there is room.
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
  }

  const poller = startPoller({
    name: 'webhook-deliver',
    ctx,
    wake: 'deliveries',
    intervalMs: INTERVAL_MS,
    minGapMs: MIN_GAP_MS,
    work,
  })
  // Immediately, so that nothing that is committed after a change of a webhook is sent by its former settings.
  const unsubscribe = ctx.wakes.on('deliveries', (changedIds) => lanes.closeChanged(changedIds))
  const aging = createAging(ctx, options.monotonicMs, (asOfMs) => {
    admission.age(asOfMs)
    lanes.age()
    void lanes.confirm()
    return lanes.ids().length > 0
  })

  return {
    lease() {
      if (stopping || !flusher.hasRoom() || !stray.beginGiving()) return null
      return { runId, until: addMs(ctx.clock.now(), LEASE_MS), lend: (lane, wanted) => lanes.lend(lane, wanted) }
    },
    vtimeFloor: () => vtimeFloor,
    take(direct, messages) {
      if (stray.areGiven()) lanes.take(direct, messages)
      else lanes.miss(messages)
      lanes.endLoans(direct)
      stray.endGiving()
      if (stray.mayExist()) ctx.wakes.wake('deliveries')
    },
    accept: (lane, message, acceptance) => !stopping && lanes.accept(lane, message, acceptance),
    roomForBacklog: (webhookId) => (stopping ? null : lanes.roomForBacklog(webhookId)),
    awaitRoom: (webhookId, events, onRoom) => lanes.awaitRoom(webhookId, events, onRoom),
    releaseStray() {
      stray.endGiving()
      stray.note()
      lanes.close(lanes.ids())
      lanes.endLoans(null)
      ctx.wakes.wake('deliveries')
    },
    async stop(withinMs = Infinity) {
      stopping = true
      unsubscribe()
      await poller.stop()
      lanes.close(lanes.ids())
      const ended = lanes.ended()
      await Promise.race([ended, delay(Math.min(GRACE_MS, withinMs / 2), undefined, { ref: false })])
      admission.stop()
      const written = flusher.stop()
      await nameLateStop(ctx.log, 'webhook lanes', ended, () => ({ webhookIds: lanes.ids() }))
      await nameLateStop(ctx.log, 'delivery results', written)
      aging.stop()
    },
  }
}
