import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { OptionValues } from '../scripts/run-measurement.ts'
import { type Child, startChild } from './support/child.ts'
import { residentKb } from './support/process-usage.ts'
import { saveMemoryAsServer } from './support/server-memory.ts'
import { deliverBare } from './support/webhooks/bare-deliveries.ts'
import type { ReceiverCommand } from './support/webhooks/receiver.ts'
import { measureBacklogs, measureBatches, measureCosts } from './support/webhooks/costs.ts'
import { type Engine, addEvent, ask, reportOf, withEngine } from './support/webhooks/engine.ts'
import { load, percentiles, reportWhen, untilDrained } from './support/webhooks/load.ts'
import { measurePuts } from './support/webhooks/puts.ts'
import { presentUsage, usageOf } from './support/webhooks/usage.ts'

/**
 * With `--portions` it measures only small portions, with `--costs` only the further costs of deliveries, and of these with
 * `--backlog` only backlogs, with `--batched` only batches, and with `--puts` only changes by the API.
 */
export const options = {
  portions: { type: 'boolean' },
  costs: { type: 'boolean' },
  backlog: { type: 'boolean' },
  batched: { type: 'boolean' },
  puts: { type: 'boolean' },
} as const

const ORGS = 20
/** Healthy webhooks per organization. */
const HEALTHY = 5
const OTHERS = 16
/** Events per organization. V8 has yet to compile the code that sends the first backlog. */
const FIRST_BACKLOG_EVENTS = 30
const LONG_BACKLOG_EVENTS = 150
const EVENTS_PER_S = 0.5
const WARM_UP_S = 5
const MEASURE_S = 30
const KILLS = 10

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Deliveries per second, in small portions. */
const PORTION_RATES = [200, 1000, 2000]
const PORTION_S = 15
/** The reference runs at the same rate, directly after. */
const BARE_S = 5

/**
 * Measures deliveries to receivers in another process: the cost of single events at a steady rate; the speed of sending
 * a first and a long backlog; the delay of an event to healthy receivers while 320 others answer, and while these begin to hang
 * together; the time from a kill of the server to the first delivery; and the further costs (see measureCosts).
 */
export async function run(values: OptionValues): Promise<Record<string, unknown>> {
  saveMemoryAsServer()
  if (values['costs'] === true) return measureCosts()
  if (values['backlog'] === true) return measureBacklogs()
  if (values['batched'] === true) return measureBatches()
  const receiver = await startChild({
    args: [program('support/webhooks/receiver.ts')],
    ready: /^receiver ready (\S+)$/,
  })
  if (values['puts'] === true) {
    const put = await measurePuts(receiver)
    await receiver.stop()
    return { put }
  }
  const portions = await withEngine({ receiver, orgs: ORGS, paths: ['healthy'] }, (engine) =>
    measurePortions(engine, receiver),
  )
  if (values['portions'] === true) {
    await receiver.stop()
    return { small_portions: portions }
  }
  const paths = [...Array(HEALTHY).fill('healthy'), ...Array(OTHERS).fill('other')]
  const figures = await withEngine({ receiver, orgs: ORGS, paths }, async (engine) => ({
    drain: await drain(engine, receiver, FIRST_BACKLOG_EVENTS),
    long_drain: await drain(engine, receiver, LONG_BACKLOG_EVENTS),
    others_answer: await measure(engine, receiver),
    others_hang: await measure(engine, receiver, 'hang'),
  }))
  const afterKill = await killAgainAndAgain(receiver)
  await receiver.stop()
  const scale = { webhooks: ORGS * (HEALTHY + OTHERS), hanging: ORGS * OTHERS }
  return { ...scale, small_portions: portions, ...figures, after_kill: afterKill, ...(await measureCosts()) }
}

async function measurePortions(engine: Engine, receiver: Child): Promise<Record<string, unknown>> {
  const figures: Record<string, unknown> = {}
  for (const rate of PORTION_RATES) figures[`at_${rate}_per_s`] = await measurePortion(engine, receiver, rate)
  return { ...figures, engine_rss_mb: Math.round((await residentKb(process.pid)) / 1024) }
}

/** Each event goes to one receiver. The figures include publishing and receiving, like those of the reference, `bare`. */
async function measurePortion(engine: Engine, receiver: Child, rate: number): Promise<Record<string, unknown>> {
  const { ctx, orgs } = engine
  const eventsPerS = rate / orgs.length
  await load(ctx, orgs, { eventsPerS, seconds: WARM_UP_S })
  await untilDrained(ctx)
  await ask(receiver, 'reset')
  const before = await usageOf(engine, receiver)
  const events = await load(ctx, orgs, { eventsPerS, seconds: PORTION_S })
  await untilDrained(ctx)
  const after = await usageOf(engine, receiver)
  const { healthyMs } = await reportOf(receiver)
  return {
    deliveries: events,
    duplicates: healthyMs.length - events,
    ...presentUsage(before, after, events),
    ...percentiles(healthyMs),
    bare: await deliverBare(engine, receiver, { perS: rate, seconds: BARE_S }),
  }
}

async function drain(engine: Engine, receiver: Child, events: number): Promise<Record<string, unknown>> {
  const { ctx, orgs } = engine
  const messages = orgs.length * (HEALTHY + OTHERS) * events
  await ask(receiver, 'reset')
  const before = await usageOf(engine, receiver)
  const began = performance.now()
  for (let event = 0; event < events; event += 1) await Promise.all(orgs.map((scope) => addEvent(ctx, scope)))
  await untilDrained(ctx)
  const tookS = (performance.now() - began) / 1000
  const after = await usageOf(engine, receiver)
  const { received } = await reportOf(receiver)
  return {
    messages,
    duplicates: received - messages,
    per_s: Math.round(messages / tookS),
    ...presentUsage(before, after, messages),
  }
}

/** Runs a steady load; sends `command` to the receiver when the measurement begins. */
async function measure(
  { ctx, orgs }: Engine,
  receiver: Child,
  command: ReceiverCommand = 'answer',
): Promise<Record<string, unknown>> {
  await load(ctx, orgs, { eventsPerS: EVENTS_PER_S, seconds: WARM_UP_S })
  await ask(receiver, 'reset')
  await ask(receiver, command)
  const events = await load(ctx, orgs, { eventsPerS: EVENTS_PER_S, seconds: MEASURE_S })
  const expected = events * HEALTHY
  const { healthyMs } = await reportWhen(receiver, expected)
  return {
    healthy: healthyMs.length,
    missing: Math.max(expected - healthyMs.length, 0),
    ...percentiles(healthyMs),
  }
}

/** Measures from the line that says ready to the first delivery, with every lane leased at the time of the kill. */
async function killAgainAndAgain(receiver: Child): Promise<Record<string, unknown>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const start = () =>
    startChild({
      args: [program('../src/bin/server.ts')],
      env: {
        SIGNALBOX_DATA_DIR: dataDir,
        SIGNALBOX_PORT: '0',
        SIGNALBOX_UCENTRAL_PORT: '0',
        SIGNALBOX_EDGE_PORT: '0',
        SIGNALBOX_LOG_LEVEL: 'error',
        SIGNALBOX_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      },
      ready: /^signalbox ready (\S+)$/,
    })
  try {
    let server = await start()
    const key = (await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()
    const account = { email: 'bench@example.test', password: 'not a secret', org: 'Bench' }
    const made = (await post(server, '/operator/v1/bootstrap', `Operator ${key}`, account)) as Record<string, string>
    const path = `/api/v1/orgs/${made['org_id']}`
    const token = `Token ${made['api_token']}`
    for (let index = 0; index < HEALTHY; index += 1)
      await post(server, `${path}/webhooks`, token, { url: `${receiver.match[1]}/other/${index}`, topics: ['audits'] })
    const firstMs: number[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      await ask(receiver, 'hang')
      await ask(receiver, 'reset')
      await post(server, `${path}/sites`, token, { name: `site ${kill}` })
      await untilReceived(receiver, HEALTHY)
      await server.kill()
      await ask(receiver, 'answer')
      await ask(receiver, 'reset')
      server = await start()
      const readyMs = performance.now()
      await untilReceived(receiver, 1)
      firstMs.push(Math.round(performance.now() - readyMs))
      await untilReceived(receiver, HEALTHY)
    }
    await server.stop()
    const inOrder = firstMs.toSorted((a, b) => a - b)
    return { kills: KILLS, first_delivery_ms: inOrder[Math.floor(KILLS / 2)], worst_ms: inOrder.at(-1) }
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function untilReceived(receiver: Child, count: number): Promise<void> {
  while ((await reportOf(receiver)).received < count) await delay(5)
}

async function post(server: Child, path: string, authorization: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${server.match[1]}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
