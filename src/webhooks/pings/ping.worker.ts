import { setTimeout as delay } from 'node:timers/promises'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { createGatherer } from '../../platform/queues/gather.ts'
import { nameLateStop } from '../../platform/time/late-stop.ts'
import { startPoller } from '../../platform/time/poller.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { type Attempt, deliverMessage } from '../delivery/deliver-message.ts'
import { isGone } from '../delivery/decide-retry.ts'
import { rateLimitOf } from '../delivery-options.ts'
import { type PoolCap, createPool } from '../delivery/admission/pool.ts'
import { type DeliverOptions, receiverOf } from '../requests/receiver.ts'
import { insertDeliveries } from '../delivery/store.ts'
import { disableGoneWebhook } from '../health/disable-webhook.ts'
import { reopenLane } from '../lanes/store-breaker.ts'
import { type WaitingPing, deletePing, listPings } from './store.ts'

export interface PingWorkerOptions extends DeliverOptions {
  /** Limits the pings in flight. Each webhook has at most one. */
  readonly pingSlots?: PoolCap
}

const defaultSlots: PoolCap = { total: 256, perOrg: 64 }
/** Every ping wakes the worker; the interval is for lost wakes only. */
const INTERVAL_MS = 30_000
/** At a stop, pings in flight have this long to end; one that is aborted is sent again after the next start. */
const GRACE_MS = 2000

interface PingResult {
  readonly ping: WaitingPing
  readonly attempt: Attempt
}

/**
 * Sends pings, at once and once each: whatever else is sent or waits, they neither wait for messages nor delay any.
 * Their rows stay until their results are written, so that none is lost by a crash.
 */
export function startPingWorker(ctx: Context, options: PingWorkerOptions): { stop(withinMs?: number): Promise<void> } {
  const slots = createPool(options.pingSlots ?? defaultSlots)
  const cutting = new Set<AbortController>()
  const running = new Map<string, Promise<void>>()
  const results = createGatherer<PingResult>({
    name: 'results of pings',
    log: ctx.log,
    write: async (items) => {
      for (const item of items) await writeResult(ctx, item)
    },
    batch: { count: 1, bytes: Infinity },
    keepsTrying: true,
  })

  /** @returns False if the ping remains and must not be sent again by this process. */
  async function send(ping: WaitingPing): Promise<boolean> {
    const { orgId, webhookId, id, body } = ping
    const cut = new AbortController()
    cutting.add(cut)
    slots.add(orgId, 1)
    try {
      const receiver = receiverOf(ctx, ping)
      const message = { id, topic: 'ping', body, attempt: 0, pauses: 0, orderKey: null, payload: null }
      const attempt = await deliverMessage(ctx, options, { receiver, message, signal: cut.signal })
      if (attempt !== null) await results.add({ ping, attempt })
      return true
    } catch (error) {
      ctx.log.error({ err: error, orgId, webhookId }, 'a ping could not be sent or recorded, it is dropped')
      return await drop(ping)
    } finally {
      slots.add(orgId, -1)
      cutting.delete(cut)
    }
  }

  async function drop(ping: WaitingPing): Promise<boolean> {
    try {
      await inTx(ctx, (tx) => deletePing(tx, ping))
      return true
    } catch (error) {
      ctx.log.error({ err: error, webhookId: ping.webhookId }, 'a dropped ping remains until the next start')
      return false
    }
  }

  function start(ping: WaitingPing): void {
    const { webhookId } = ping
    const ended = send(ping).then((isDone) => {
      if (!isDone) return
      running.delete(webhookId)
      // Another ping may wait for the slot.
      poller.wake()
    })
    running.set(webhookId, ended)
  }

  const poller = startPoller({
    name: 'webhook-ping',
    ctx,
    wake: 'pings',
    intervalMs: INTERVAL_MS,
    async work() {
      const limit = slots.left()
      if (limit === 0) return null
      const exceptWebhookIds = [...running.keys()]
      const found = await listPings(ctx.queueDb, { limit, exceptOrgIds: slots.fullOrgIds(), exceptWebhookIds })
      const fitting = found.filter((ping) => {
        const fits = slots.fits(ping.orgId, 1)
        if (fits) start(ping)
        return fits
      })
      return fitting.length < found.length
    },
  })

  return {
    async stop(withinMs = Infinity) {
      await poller.stop()
      const ended = Promise.all(running.values())
      await Promise.race([ended, delay(Math.min(GRACE_MS, withinMs / 2), undefined, { ref: false })])
      for (const cut of cutting) cut.abort()
      const written = results.stop()
      const pings = (): object => ({ webhookIds: [...running.keys()] })
      await nameLateStop(ctx.log, 'pings in flight', ended, pings)
      await nameLateStop(ctx.log, 'results of pings', written)
    },
  }
}

/**
 * Records an attempt. One that succeeded shows that the receiver is back, and its messages are sent. After a 410 the webhook is
 * disabled, as after that of any other message.
 */
async function writeResult(ctx: Context, { ping, attempt }: PingResult): Promise<void> {
  const { orgId, webhookId, webhook } = ping
  // Before the record: after a crash the ping is sent again.
  if (isGone(attempt.record.statusCode)) await disableGoneWebhook(ctx, ping)
  const limit = rateLimitOf(webhook.doc)
  const now = ctx.clock.now()
  // The next message of a limited webhook may start by then at the latest.
  const keepUntil = limit === null ? null : addMs(now, limit.periodMs / limit.messages)
  await inTx(ctx, async (tx) => {
    // The lane comes after the record, because the router waits for it, and before the ping, as in the deletion of a webhook.
    await insertDeliveries(tx, [attempt.record])
    if (attempt.verdict.kind === 'delivered' && (await reopenLane(tx, { orgId, webhookId }, { now, keepUntil })))
      wakeAfterCommit(tx, 'deliveries', [webhookId])
    await deletePing(tx, ping)
  })
}
