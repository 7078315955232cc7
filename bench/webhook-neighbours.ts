import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { type Child, startChild } from './support/child.ts'
import { type Engine, addEvents, ask, withEngine } from './support/webhook-engine.ts'
import { load, percentiles, reportWhen, untilDrained } from './support/webhook-load.ts'

const ORGS = 20
const FOREIGN_EVENTS = 50_000
const LOAD = { eventsPerS: 2, seconds: 15 }
/** The load while a transaction is open, before the measurement. */
const BEFORE = { eventsPerS: 10, seconds: 30 }

/**
 * Measures the delay of events to the receivers of 20 organizations: without other load, just after another
 * organization has committed 50,000 events, and while a transaction retains the rows of all deliveries of half a
 * minute.
 */
export async function run(): Promise<Record<string, unknown>> {
  const receiver = await startChild({
    args: [fileURLToPath(new URL('support/receiver.ts', import.meta.url))],
    ready: /^receiver ready (\S+)$/,
  })
  const figures = await withEngine({ receiver, orgs: ORGS, paths: ['healthy'] }, (engine) => measure(engine, receiver))
  await receiver.stop()
  return figures
}

async function measure({ ctx, orgs, addOrg }: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const foreign = await addOrg(['other'])
  const latency = async (): Promise<Record<string, unknown>> => {
    await ask(receiver, 'reset')
    const events = await load(ctx, orgs, LOAD)
    const { healthyMs } = await reportWhen(receiver, events)
    return { missing: events - healthyMs.length, ...percentiles(healthyMs) }
  }
  await latency()
  const alone = await latency()
  await addEvents(ctx, foreign, FOREIGN_EVENTS)
  const beside = await latency()
  await untilDrained(ctx)
  const transaction = ctx.db.transaction().setIsolationLevel('repeatable read')
  const held = await transaction.execute(async (tx) => {
    await sql`select from webhook_outbox limit 1`.execute(tx)
    await load(ctx, orgs, BEFORE)
    await untilDrained(ctx)
    return latency()
  })
  return { foreign_events: FOREIGN_EVENTS, alone, beside_foreign_events: beside, while_a_transaction_is_open: held }
}
