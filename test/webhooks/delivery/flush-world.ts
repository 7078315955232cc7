import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { inTx } from '../../../src/platform/database/db.ts'
import { type WebhookCounters, createWebhookCounters } from '../../../src/webhooks/metrics/counters.ts'
import type { Attempt } from '../../../src/webhooks/delivery/deliver-message.ts'
import { type ClaimedLane, claimLanes } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import type { AttemptOutcome } from '../../../src/webhooks/delivery/write-entries.ts'
import { type SpareCount, createSpareCount } from '../../../src/webhooks/lanes/spare-count.ts'
import type { Clock } from '../../../src/platform/time/clock.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { type Harness, createHarness } from '../harness.ts'
import { laneClaim } from '../lane-claim.ts'

const url = 'http://127.0.0.1:1/'

/** Leased lanes whose results a test passes to the flusher. */
export interface FlushWorld {
  readonly harness: Harness
  readonly clock: Clock
  readonly counters: WebhookCounters
  /** The count of the lane of a test that has one lane. */
  readonly spare: SpareCount
  /** Returns a webhook's leased lane with this number of messages. */
  claimed(messages: number): Promise<ClaimedLane>
  delivered(lane: ClaimedLane, messageId: string, reqPayload?: string): Attempt
  laneRow(): Promise<{ pending: number; leaseUntil: Date | null; nextAt: Date | null; failures: number }>
  /** Tells whether the row was changed. */
  laneVersion(): Promise<{ pending: number; ctid: string }>
}

export async function openFlushWorld(): Promise<FlushWorld> {
  const clock = createTestClock()
  const harness = await createHarness(clock)
  return {
    harness,
    clock,
    counters: createWebhookCounters(),
    spare: createSpareCount(200),
    async claimed(messages) {
      const { id } = await harness.addWebhook({ url, topics: ['audits'] })
      const message = { orgId: harness.scope.orgId, webhookId: id, topic: 'audits', eventCount: 1, orderKey: null }
      const added = Array.from({ length: messages }, () => ({ ...message, id: uuidv7(), body: Buffer.from('{}') }))
      await inTx(harness.ctx, (tx) => enqueueMessages(tx, added, clock.now()))
      const claim = laneClaim(clock, { lanesOf: () => 1 })
      const [lane] = (await inTx(harness.ctx, (tx) => claimLanes(tx, claim))).lanes
      if (lane?.messages.length !== messages) throw new Error('not claimed')
      return lane
    },
    delivered: (lane, messageId, reqPayload = '{}') => delivered(lane, { messageId, reqPayload, at: clock.now() }),
    laneRow: () =>
      harness.ctx.db
        .selectFrom('webhookLane')
        .select(['pending', 'leaseUntil', 'nextAt', 'failures'])
        .executeTakeFirstOrThrow(),
    async laneVersion() {
      const { rows } = await sql<{ pending: number; ctid: string }>`
        select pending, ctid::text as ctid from webhook_lane
      `.execute(harness.ctx.db)
      return rows[0] ?? { pending: NaN, ctid: '' }
    },
  }
}

/** The outcome of an attempt at a message that is in the database, of a lane without failures. */
export function tried(attempt: Attempt): AttemptOutcome {
  return { attempt, failures: { failures: 0, failingSince: null }, unrouted: null }
}

interface Delivered {
  readonly messageId: string
  readonly reqPayload: string
  readonly at: Date
}

function delivered({ orgId, webhookId }: ClaimedLane, { messageId, reqPayload, at }: Delivered): Attempt {
  const answer = { respHeaders: null, respBody: null, remoteAddress: null }
  const payload = { reqPayload, payloadId: null, payloadAt: null, payloadBytes: null }
  const exchange = { reqHeaders: '{}', headersReduced: null, signatures: null, ...payload, ...answer }
  return {
    verdict: { kind: 'delivered' },
    askedMs: 0,
    pauses: 0,
    record: {
      orgId,
      id: uuidv7(),
      webhookId,
      messageId,
      siteId: null,
      topic: 'audits',
      attempt: 1,
      status: 'success',
      statusCode: 200,
      error: null,
      reqUrl: url,
      createdAt: at,
      durationMs: 1,
      final: true,
      nextAttempt: null,
      exchange,
    },
  }
}
