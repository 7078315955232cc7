import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { nameLateStop } from '../../platform/time/late-stop.ts'
import { startPoller } from '../../platform/time/poller.ts'
import type { PartLimits } from '../../platform/database/split.ts'
import { createAdmission } from './admission/admission.ts'
import type { Caps } from './admission/caps.ts'
import { createClaimer } from './claim-due.ts'
import { type DirectDelivery, createDirectDelivery } from './direct-delivery.ts'
import type { WebhookCounters } from '../metrics/counters.ts'
import type { DeliverOptions } from '../requests/receiver.ts'
import { createFlusher } from './flush.ts'
import { createClockFollower } from './follow-clock.ts'
import type { WebhookLimits } from '../limits/limits.ts'
import { createHeldLanes } from '../lanes/held/held-lanes.ts'
import { createAging } from './aging.ts'
import { createStrayLeases } from './stray-leases.ts'
import { releaseStrayLeases } from '../lanes/store.ts'

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
/** At a stop, requests in flight have this long to end; one that is aborted is sent again after the next start. */
const GRACE_MS = 2000

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
  const claimer = createClaimer(ctx, { runId, admission, flusher, lanes, stray })
  const direct = createDirectDelivery(ctx, { runId, flusher, lanes, stray, vtimeFloor: claimer.vtimeFloor })

  const followClock = createClockFollower(ctx, options)

  async function work(): Promise<boolean | Date | null> {
    const isFollowing = await followClock()
    const next = await claimer.claimDue()
    return isFollowing ? true : next
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
  const aging = createAging(ctx, {
    nowMs: options.monotonicMs,
    lateMs: options.caps.lateMs,
    minIdleMs: options.minIdleMs,
    age(asOfMs) {
      admission.age(asOfMs)
      const areBusy = lanes.age()
      void lanes.confirm()
      if (lanes.ids().length === 0) return 'nothing'
      return areBusy ? 'busy' : 'calm'
    },
  })

  return {
    ...direct,
    async stop(withinMs = Infinity) {
      direct.close()
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
