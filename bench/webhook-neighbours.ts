import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { type Child, startChild } from './support/child.ts'
import { type Engine, addEvents, ask, withEngine } from './support/webhook-engine.ts'
import { load, percentiles, reportWhen, untilDrained } from './support/webhook-load.ts'
import { presentUsage, usageOf } from './support/webhook-usage.ts'

/** With `--held-minutes` it measures only the effect of an open transaction, for so long. */
export const options = { 'held-minutes': { type: 'string' } } as const

const ORGS = 20
const FOREIGN_EVENTS = 50_000
const LOAD = { eventsPerS: 2, seconds: 15 }
/** The load while a transaction is open: 1,000 events per second. */
const HELD_LOAD = { eventsPerS: 50, seconds: 15 }
const HELD_WINDOWS = 2

/**
 * Measures the delay of events to the receivers of 20 organizations: without other load, just after another
 * organization has committed 50,000 events, and while an open transaction retains the rows of all deliveries since it
 * began.
 */
export async function run(values: OptionValues): Promise<Record<string, unknown>> {
  const minutes = values['held-minutes'] === undefined ? null : parseCount(values, 'held-minutes', 1)
  const windows = minutes === null ? HELD_WINDOWS : Math.ceil((minutes * 60) / HELD_LOAD.seconds)
  const receiver = await startChild({
    args: [fileURLToPath(new URL('support/receiver.ts', import.meta.url))],
    ready: /^receiver ready (\S+)$/,
  })
  const figures = await withEngine({ receiver, orgs: ORGS, paths: ['healthy'] }, async (engine) => ({
    ...(minutes === null && (await besideOthers(engine, receiver))),
    ...(await whileHeld(engine, receiver, windows)),
  }))
  await receiver.stop()
  return figures
}

async function besideOthers(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const foreign = await engine.addOrg(['other'])
  await latency(engine, receiver)
  const alone = await latency(engine, receiver)
  await addEvents(engine.ctx, foreign, FOREIGN_EVENTS)
  const beside = await latency(engine, receiver)
  await untilDrained(engine.ctx)
  return { foreign_events: FOREIGN_EVENTS, alone, beside_foreign_events: beside }
}

async function latency({ ctx, orgs }: Engine, receiver: Child, of = LOAD): Promise<Record<string, unknown>> {
  await ask(receiver, 'reset')
  const events = await load(ctx, orgs, of)
  const { healthyMs } = await reportWhen(receiver, events)
  return { missing: events - healthyMs.length, ...percentiles(healthyMs) }
}

/** Measures windows of the same load: one before the transaction, and those during it one after the other. */
async function whileHeld(engine: Engine, receiver: Child, windows: number): Promise<Record<string, unknown>> {
  const { ctx } = engine
  await latency(engine, receiver)
  const before = await costs(engine, receiver)
  const transaction = ctx.db.transaction().setIsolationLevel('repeatable read')
  const during = await transaction.execute(async (tx) => {
    await sql`select from webhook_outbox limit 1`.execute(tx)
    const measured: Record<string, unknown>[] = []
    while (measured.length < windows) measured.push(await costs(engine, receiver))
    return measured
  })
  const per_s = HELD_LOAD.eventsPerS * ORGS
  return { held: { per_s, window_s: HELD_LOAD.seconds, before, windows: Object.fromEntries(during.entries()) } }
}

async function costs(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const before = await usageOf(engine, receiver)
  const delays = await latency(engine, receiver, HELD_LOAD)
  await untilDrained(engine.ctx)
  const after = await usageOf(engine, receiver)
  return { ...delays, ...presentUsage(before, after, HELD_LOAD.eventsPerS * HELD_LOAD.seconds * ORGS) }
}
