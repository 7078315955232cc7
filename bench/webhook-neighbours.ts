import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { type Child, startChild } from './support/child.ts'
import { saveMemoryAsServer } from './support/server-memory.ts'
import { type Engine, addEvents, ask, withEngine } from './support/webhooks/engine.ts'
import { load, percentiles, reportWhen, untilDrained } from './support/webhooks/load.ts'
import { presentUsage, usageOf } from './support/webhooks/usage.ts'

/**
 * `--beside` measures only the effect of foreign events; `--held-minutes` only that of a transaction that stays open for that
 * time. With it, `--webhooks-per-org` has each event delivered that many times, at the same rate of deliveries.
 */
export const options = {
  beside: { type: 'boolean' },
  'held-minutes': { type: 'string' },
  'webhooks-per-org': { type: 'string' },
} as const

const ORGS = 20
const FOREIGN_EVENTS = 50_000
const LOAD = { eventsPerS: 2, seconds: 15 }
/** The load while a transaction is open: 1,000 deliveries per second. */
const HELD_DELIVERIES_PER_S = 1000
const HELD_WINDOW_S = 15
const HELD_WINDOWS = 2

/**
 * Measures the delay of events to the receivers of 20 organizations: without other load, just after another
 * organization has committed 50,000 events, and while an open transaction retains the rows of all deliveries since it
 * began.
 */
export async function run(values: OptionValues): Promise<Record<string, unknown>> {
  const minutes = values['held-minutes'] === undefined ? null : parseCount(values, 'held-minutes', 1)
  const windows = minutes === null ? HELD_WINDOWS : Math.ceil((minutes * 60) / HELD_WINDOW_S)
  const webhooks = parseCount(values, 'webhooks-per-org', 1)
  if (minutes === null && webhooks > 1) throw new Error('--webhooks-per-org needs --held-minutes')
  if (minutes !== null && values['beside'] === true) throw new Error('choose --beside or --held-minutes')
  saveMemoryAsServer()
  const receiver = await startChild({
    args: [fileURLToPath(new URL('support/webhooks/receiver.ts', import.meta.url))],
    ready: /^receiver ready (\S+)$/,
  })
  const paths = Array.from({ length: webhooks }, () => 'healthy')
  const figures = await withEngine({ receiver, orgs: ORGS, paths }, async (engine) => ({
    ...(minutes === null && (await besideOthers(engine, receiver))),
    ...(values['beside'] !== true && (await whileHeld(engine, receiver, { windows, webhooks }))),
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

async function latency(
  { ctx, orgs }: Engine,
  receiver: Child,
  { webhooks = 1, ...of }: typeof LOAD & { readonly webhooks?: number } = LOAD,
): Promise<Record<string, unknown>> {
  await ask(receiver, 'reset')
  const deliveries = (await load(ctx, orgs, of)) * webhooks
  const { healthyMs } = await reportWhen(receiver, deliveries)
  return { missing: deliveries - healthyMs.length, ...percentiles(healthyMs) }
}

interface Held {
  readonly windows: number
  /** The number of webhooks of each organization, which all receive each event. */
  readonly webhooks: number
}

/** Measures windows of the same load: one before the transaction, and those during it one after the other. */
async function whileHeld(
  engine: Engine,
  receiver: Child,
  { windows, webhooks }: Held,
): Promise<Record<string, unknown>> {
  const { ctx } = engine
  await latency(engine, receiver, { ...LOAD, webhooks })
  const before = await costs(engine, receiver, webhooks)
  const transaction = ctx.db.transaction().setIsolationLevel('repeatable read')
  const during = await transaction.execute(async (tx) => {
    await sql`select from webhook_outbox limit 1`.execute(tx)
    const measured: Record<string, unknown>[] = []
    while (measured.length < windows) measured.push(await costs(engine, receiver, webhooks))
    return measured
  })
  const load = { per_s: HELD_DELIVERIES_PER_S, webhooks_per_org: webhooks, window_s: HELD_WINDOW_S }
  return { held: { ...load, before, windows: Object.fromEntries(during.entries()) } }
}

async function costs(engine: Engine, receiver: Child, webhooks: number): Promise<Record<string, unknown>> {
  const eventsPerS = HELD_DELIVERIES_PER_S / ORGS / webhooks
  const before = await usageOf(engine, receiver)
  const delays = await latency(engine, receiver, { eventsPerS, seconds: HELD_WINDOW_S, webhooks })
  await untilDrained(engine.ctx)
  const after = await usageOf(engine, receiver)
  return { ...delays, ...presentUsage(before, after, HELD_DELIVERIES_PER_S * HELD_WINDOW_S) }
}
