import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { type Child, startChild } from '../child.ts'
import { residentKb } from '../process-usage.ts'
import { type Engine, addEvent, addEvents, ask, reportOf, withEngine } from './engine.ts'
import { load, percentiles, untilDrained } from './load.ts'
import { measurePuts } from './puts.ts'
import { type Usage, presentUsage, round, usageOf } from './usage.ts'

const ORGS = 20
/** As many as an organization may have by default. */
const IDLE_PER_ORG = 1000
const IDLE_ORGS = 50
/** Single events, so far apart that each finds the engine at rest. */
const RARE_EVENTS = 10
const RARE_GAP_MS = 1500
const QUIET_MS = RARE_EVENTS * RARE_GAP_MS
const BATCHED_EVENTS = 50_000
const DELIVERIES = 100_000

/**
 * Measures: what publishing costs without a webhook; what an event costs that finds the engine at rest, and what rest costs,
 * without and with 50,000 idle webhooks; how fast batched events are sent; how much memory is resident after 100,000
 * deliveries, by HTTP and by TLS; and what a `PUT` costs the server and the receiver of its audit event.
 */
export async function measureCosts(): Promise<Record<string, unknown>> {
  const receiver = await startReceiver([])
  const plain = await withEngine({ receiver, orgs: ORGS, paths: ['healthy'] }, async (engine) => ({
    publishing: await publish(engine, receiver),
    rare_events: await rare(engine, receiver),
    rare_events_beside_idle_webhooks: await besideIdleWebhooks(engine, receiver),
    batched: await batched(engine, receiver),
  }))
  const backlogs = await measureBacklogs()
  const put = await measurePuts(receiver)
  await receiver.stop()
  return { ...plain, ...backlogs, put }
}

/** Measures how fast a backlog is sent, and how much memory is resident then: by HTTP and by TLS. */
export async function measureBacklogs(): Promise<Record<string, unknown>> {
  const backlogBy = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
    const receiver = await startReceiver(args)
    // A report of what `/healthy/...` has received contains each delay, and sendMany() asks for one all the time.
    const figures = await withEngine({ receiver, orgs: ORGS, paths: ['other'] }, (engine) => sendMany(engine, receiver))
    await receiver.stop()
    return figures
  }
  return { backlog: await backlogBy(), backlog_by_tls: await backlogBy('--tls') }
}

/** Measures how fast the events of one commit are sent to a webhook that takes many in a message. */
export async function measureBatches(): Promise<Record<string, unknown>> {
  const receiver = await startReceiver([])
  const figures = await withEngine({ receiver, orgs: 0, paths: [] }, (engine) => batched(engine, receiver))
  await receiver.stop()
  return { batched: figures }
}

function startReceiver(args: readonly string[]): Promise<Child> {
  return startChild({
    args: [fileURLToPath(new URL('receiver.ts', import.meta.url)), ...args],
    ready: /^receiver ready (\S+)$/,
  })
}

/** Events that no webhook gets: the part of the publisher in all figures. */
async function publish(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const withoutWebhooks = [await engine.addOrg([])]
  const before = await usageOf(engine, receiver)
  const events = await load(engine.ctx, withoutWebhooks, { eventsPerS: 200, seconds: 10 })
  return { at_200_per_s: presentUsage(before, await usageOf(engine, receiver), events) }
}

async function rare(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  await delay(RARE_GAP_MS)
  const rest = await measureSpan(engine, receiver, () => delay(QUIET_MS))
  await ask(receiver, 'reset')
  const events = await measureSpan(engine, receiver, async () => {
    for (let event = 0; event < RARE_EVENTS; event += 1) {
      const scope = engine.orgs[event % engine.orgs.length]
      if (scope !== undefined) await addEvent(engine.ctx, scope)
      await delay(RARE_GAP_MS)
    }
  })
  const { healthyMs } = await reportOf(receiver)
  return {
    // Without the polls of the same time, and the insert of the publisher.
    statements_each: round((events.statements - rest.statements) / RARE_EVENTS - 1),
    rows_read_each: round((events.read - rest.read) / RARE_EVENTS),
    cpu_ms_each: round((events.cpuMs - rest.cpuMs) / RARE_EVENTS),
    cpu_ms_per_s_of_rest: round((rest.cpuMs * 1000) / QUIET_MS),
    statements_per_s_of_rest: round((rest.statements * 1000) / QUIET_MS),
    rows_read_per_s_of_rest: round((rest.read * 1000) / QUIET_MS),
    ...percentiles(healthyMs),
  }
}

interface Span {
  readonly statements: number
  /** Rows and entries of indexes. */
  readonly read: number
  readonly cpuMs: number
}

async function measureSpan(engine: Engine, receiver: Child, work: () => Promise<void>): Promise<Span> {
  const cpuMs = ({ engine: own, postgres, receiver: other }: Usage): number => (own + postgres + other) * 1000
  const readBefore = await engine.countRead()
  const before = await usageOf(engine, receiver)
  await work()
  const after = await usageOf(engine, receiver)
  const read = (await engine.countRead()) - readBefore
  return { statements: after.statements - before.statements, read, cpuMs: cpuMs(after) - cpuMs(before) }
}

async function besideIdleWebhooks(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const { ctx } = engine
  const orgIds: string[] = []
  for (let org = 0; org < IDLE_ORGS; org += 1) orgIds.push((await engine.addOrg([])).orgId)
  await sql`
    with w as (
      insert into webhook (org_id, id, enabled, topics, doc, created_at, modified_at)
      select org_id, gen_random_uuid(), true, '{alarms}', '{"type": "http-post", "url": "http://127.0.0.1:9/", "topics": ["alarms"]}', now(), now()
      from unnest(${orgIds}::uuid[]) as org (org_id) cross join generate_series(1, ${IDLE_PER_ORG}::integer)
      returning org_id, id
    ) insert into webhook_lane (org_id, webhook_id) select org_id, id from w
  `.execute(ctx.db)
  await sql`analyze webhook, webhook_lane`.execute(ctx.db)
  const figures = await rare(engine, receiver)
  await sql`delete from webhook where topics = '{alarms}'`.execute(ctx.db)
  return { idle_webhooks: IDLE_ORGS * IDLE_PER_ORG, ...figures }
}

async function batched(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const org = await engine.addOrg(['other'], { batched: true })
  await ask(receiver, 'reset')
  const before = await usageOf(engine, receiver)
  const began = performance.now()
  await addEvents(engine.ctx, org, BATCHED_EVENTS)
  await untilDrained(engine.ctx)
  const tookS = (performance.now() - began) / 1000
  const after = await usageOf(engine, receiver)
  const { received, events } = await reportOf(receiver)
  const perS = Math.round(BATCHED_EVENTS / tookS)
  return { events, messages: received, events_per_s: perS, ...presentUsage(before, after, BATCHED_EVENTS) }
}

/** Sends a backlog of single events to 20 webhooks. */
async function sendMany(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const { ctx, orgs } = engine
  await ask(receiver, 'reset')
  const before = await usageOf(engine, receiver)
  const began = performance.now()
  for (const scope of orgs) await addEvents(ctx, scope, DELIVERIES / orgs.length)
  let maxKb = 0
  // Each look at the tables reads the rows that have left them, which cost the database an eighth of the whole.
  while ((await reportOf(receiver)).received < DELIVERIES) {
    maxKb = Math.max(maxKb, await residentKb(process.pid))
    await delay(50)
  }
  await untilDrained(ctx)
  const tookS = (performance.now() - began) / 1000
  const after = await usageOf(engine, receiver)
  const { received } = await reportOf(receiver)
  return {
    deliveries: DELIVERIES,
    duplicates: received - DELIVERIES,
    per_s: Math.round(DELIVERIES / tookS),
    ...presentUsage(before, after, DELIVERIES),
    rss_mb: Math.round((await residentKb(process.pid)) / 1024),
    // At the end it depends on when the last full collection was.
    max_rss_mb: Math.round(maxKb / 1024),
  }
}
