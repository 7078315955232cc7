import { sql } from 'kysely'
import pg from 'pg'
import { inTx } from '../../../src/platform/database/db.ts'
import type { WebhookWorkerOptions } from '../../../src/webhooks/workers.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { Harness } from '../harness.ts'
import type { Receiver } from '../receiver.ts'

interface HeldLane {
  /** The id of the webhook. */
  readonly id: string
  readonly workers: { stop(): Promise<void> }
}

/** Adds a webhook, starts the workers and has a first event delivered, so that this process holds the lane of the webhook. */
export async function holdLane(
  { harness, receiver }: { readonly harness: Harness; readonly receiver: Receiver },
  body: Record<string, unknown>,
  options: Partial<WebhookWorkerOptions> = {},
): Promise<HeldLane> {
  const { id } = await harness.addWebhook({ url: receiver.url, ...body })
  const workers = await harness.start(options)
  await harness.audit('first')
  await receiver.waitFor(1)
  await untilWritten(harness)
  return { id, workers }
}

/** Resolves when no event and no message is left. A lane that is held counts what it has sent for a while longer. */
export function untilWritten({ ctx }: Harness): Promise<boolean> {
  return waitUntil('everything written', async () => {
    const events = await ctx.db.selectFrom('webhookOutbox').select('id').execute()
    const messages = await ctx.db.selectFrom('webhookMessage').select('id').execute()
    return events.length === 0 && messages.length === 0
  })
}

/** Stops the workers after the work, of which they can't write any result, as if the process had been killed before. */
export async function crashAfter<T>(
  { ctx, connection }: Harness,
  workers: HeldLane['workers'],
  work: () => Promise<T>,
): Promise<T> {
  // Not from the pool, whose connections are broken.
  const operator = new pg.Client(connection)
  await operator.connect()
  const result = await inTx(ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    const done = await work()
    let isStopped = false
    const stopping = workers.stop().then(() => (isStopped = true))
    await waitUntil('gave up', async () => {
      await operator.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`)
      return isStopped
    })
    await stopping
    return done
  })
  await operator.end()
  return result
}
