import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../platform/context.ts'
import { addMs } from '../platform/clock.ts'
import { inTx } from '../platform/db.ts'
import { type Poller, startPoller } from '../platform/poller.ts'
import type { PartLimits } from '../platform/split.ts'
import { type Admission, type Caps, type Vacancy, createAdmission } from './admission.ts'
import type { WebhookCounters } from './counters.ts'
import type { DeliverOptions } from './deliver-message.ts'
import { createFlusher } from './flush.ts'
import { runLane } from './run-lane.ts'
import { type Claimed, type ClaimedLane, claimLanes, findNextDue } from './store-deliver.ts'

export interface DeliverWorkerOptions extends DeliverOptions {
  /** Identifies this run of the server in its leases. */
  readonly runId: string
  readonly caps: Caps
  readonly maxUnwritten: PartLimits
  readonly counters: WebhookCounters
}

const INTERVAL_MS = 1000
/** Wake-ups within this time share a claim. */
const MIN_GAP_MS = 2
const MAX_LANES_PER_CLAIM = 32
const MAX_BYTES_PER_CLAIM = 4 * 1024 * 1024
/** Must exceed the longest turn of a lane: its start window, one request and the write of its results. */
const LEASE_MS = 60_000
/** When to check again for lanes that are due but whose organization has used up its share. */
const BUSY_PAUSE_MS = 100
/** At a stop, requests in flight have this long to end; one that is cut is sent again after the next start. */
const GRACE_MS = 2000

/** Claims lanes and sends their messages, as many at once as the caps allow. */
export function startDeliverWorker(ctx: Context, options: DeliverWorkerOptions): { stop(): Promise<void> } {
  const admission = createAdmission({
    caps: options.caps,
    nowMs: () => performance.now(),
    onVacancy: () => ctx.wakes.wake('deliveries'),
  })
  const flusher = createFlusher(ctx, options.counters, options.maxUnwritten)
  const running = new Set<Promise<void>>()

  async function run(lane: ClaimedLane): Promise<void> {
    const { orgId, webhookId, messages } = lane
    const bytes = messages.reduce((sum, { body }) => sum + body.length, 0)
    const turn = admission.open({ orgId, webhookId, bytes })
    try {
      await runLane(ctx, { ...options, flusher }, { lane, turn })
    } catch (error) {
      ctx.log.error({ err: error, orgId, webhookId }, 'lane failed, it is taken up again when its lease ends')
    } finally {
      turn.end()
    }
  }

  function start(lane: ClaimedLane): void {
    const turn = run(lane).finally(() => {
      running.delete(turn)
      // The lane's turn has ended, so there may be room for another lane.
      ctx.wakes.wake('deliveries')
    })
    running.add(turn)
  }

  async function claim({ lanes, bytes, ...of }: Vacancy, now: Date): Promise<Claimed> {
    const limit = Math.min(lanes, MAX_LANES_PER_CLAIM)
    const maxBytes = Math.min(bytes, MAX_BYTES_PER_CLAIM)
    if (limit === 0 || maxBytes === 0 || of.onlyWebhookIds?.length === 0) return { lanes: [], hasMore: false }
    const leaseUntil = addMs(now, LEASE_MS)
    const claimed = await inTx(ctx, (tx) =>
      claimLanes(tx, { now, runId: options.runId, leaseUntil, limit, maxBytes, ...of }),
    )
    for (const lane of claimed.lanes) start(lane)
    return claimed
  }

  async function work(): Promise<boolean | Date | null> {
    // The end of a lane's turn wakes this worker, so it checks again when there is room.
    if (!flusher.hasRoom()) return null
    const now = ctx.clock.now()
    const fast = await claim(admission.vacancy('fast'), now)
    const slow = await claim(admission.vacancy('slow'), now)
    if (fast.hasMore || slow.hasMore) return true
    const next = await findNextDue(ctx.db)
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
  const aging = startAging(ctx, admission)

  return {
    async stop() {
      await poller.stop()
      const ended = Promise.all(running)
      await Promise.race([ended, delay(GRACE_MS, undefined, { ref: false })])
      admission.stop()
      const written = flusher.stop()
      await ended
      await written
      await aging.stop()
    },
  }
}

const AGING_MS = 50

/** Ages requests at intervals. */
function startAging(ctx: Context, admission: Admission): Poller {
  return startPoller({
    name: 'webhook-aging',
    ctx,
    intervalMs: AGING_MS,
    async work() {
      // After a pause of the whole process, this lets waiting answers be read before any request is cut.
      await nextTurn()
      admission.age()
      return null
    },
  })
}
