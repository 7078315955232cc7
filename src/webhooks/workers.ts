import { uuidv7 } from '../platform/uuidv7.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { preparePartitions } from '../platform/database/partitions.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import type { PartLimits } from '../platform/database/split.ts'
import { createDeadlines } from '../platform/time/deadlines.ts'
import { findLastWallTime } from '../platform/time/start-service-clock.ts'
import { createRunningClock } from '../platform/time/running-clock.ts'
import { type Caps, defaultCaps } from './delivery/admission/caps.ts'
import { createAccessTokens } from './requests/access-tokens.ts'
import { createWebhookCounters } from './metrics/counters.ts'
import { setBackMs } from './delivery/clock-steps.ts'
import { startDeliverWorker } from './delivery/deliver.worker.ts'
import { keptDays } from './partitions.ts'
import { type WebhookLimits, defaultWebhookLimits } from './limits/limits.ts'
import { MIN_IDLE_MS } from './lanes/held/decide-idle.ts'
import { releaseStrayLeases } from './lanes/store.ts'
import { defaultMaxUnwritten } from './delivery/flush.ts'
import { startDeletionWorker } from './deletions/deletions.worker.ts'
import { startPingWorker } from './pings/ping.worker.ts'
import type { PoolCap } from './delivery/admission/pool.ts'
import { startRouteWorker } from './routing/route.worker.ts'

export interface WebhookWorkerOptions {
  readonly outbound: OutboundHttp
  /** The limit for one attempt. */
  readonly timeoutMs?: number
  /** Returns 0 to 1; varies the pauses of retries. */
  readonly random?: () => number
  readonly caps?: Caps
  /** Limits the pings in flight, which `caps` does not. */
  readonly pingSlots?: PoolCap
  /** The clock by which requests become late and slow, in milliseconds since any time. */
  readonly monotonicMs?: () => number
  /** The clock by which lanes are held and events wait in them, in milliseconds since any time. Default: `performance.now()`. */
  readonly laneMs?: () => number
  /** Limits for results that wait for the database. */
  readonly maxUnwritten?: PartLimits
  /** How long a lane without messages is held at least for its next one, which then needs no claim. */
  readonly minIdleMs?: number
  readonly limits?: WebhookLimits
  /** Counts the milliseconds that the database needs for the messages of an account's changes. */
  readonly charge?: (account: string, databaseMs: number) => void
}

const defaults = {
  timeoutMs: 15_000,
  random: Math.random,
  caps: defaultCaps,
  maxUnwritten: defaultMaxUnwritten,
  minIdleMs: MIN_IDLE_MS,
  laneMs: () => performance.now(),
}

/** Routes events to webhooks and delivers them until stopped. */
export async function startWebhookWorkers(
  ctx: Context,
  options: WebhookWorkerOptions,
): Promise<{ stop(withinMs?: number): Promise<void> }> {
  // The daily chore creates them ahead, but a server that was off for days starts without them.
  await preparePartitions(ctx, keptDays)
  const runId = uuidv7()
  const leases = await inTx(ctx, (tx) => releaseStrayLeases(tx, { exceptRunId: runId }))
  if (leases > 0) ctx.log.info({ leases }, 'ended the leases of webhook lanes that the previous run held')
  const counters = createWebhookCounters()
  const startBackMs = setBackMs(await findLastWallTime(ctx.db), ctx.clock.now())
  const deadlines = createDeadlines()
  const tokens = createAccessTokens({ clock: ctx.clock, deadlines, outbound: options.outbound })
  const pinger = startPingWorker(ctx, { ...defaults, ...options, deadlines, tokens })
  const {
    limits = defaultWebhookLimits,
    monotonicMs = createRunningClock(),
    laneMs,
    charge,
  } = { ...defaults, ...options }
  const deliverer = startDeliverWorker(ctx, {
    ...defaults,
    ...options,
    limits,
    monotonicMs,
    startBackMs,
    deadlines,
    tokens,
    runId,
    counters,
  })
  const router = startRouteWorker(ctx, counters, { limits, direct: deliverer, laneMs, ...(charge && { charge }) })
  const deletions = startDeletionWorker(ctx)
  return {
    async stop(withinMs) {
      await router.stop()
      await Promise.all([deliverer.stop(withinMs), pinger.stop(withinMs), deletions.stop()])
    },
  }
}
