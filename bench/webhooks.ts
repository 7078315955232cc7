import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { type OrgScope, systemScope } from '../src/access/scope.ts'
import { openContext } from '../src/app/open-context.ts'
import { appendAudit } from '../src/events/append.ts'
import type { Context } from '../src/platform/context.ts'
import { inTx } from '../src/platform/db.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../src/platform/log.ts'
import { migrate } from '../src/platform/migrate.ts'
import { createOutboundHttp } from '../src/platform/outbound-http.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { createWebhook } from '../src/webhooks/create-webhook.ts'
import { startWebhookWorkers } from '../src/webhooks/workers.ts'
import { type Child, startChild } from './support/child.ts'
import type { ReceiverCommand, ReceiverReport } from './support/receiver.ts'

const ORGS = 20
/** Healthy webhooks per organization. */
const HEALTHY = 5
const OTHERS = 16
const DRAIN_EVENTS = 30
const EVENTS_PER_S = 0.5
const WARM_UP_S = 5
const MEASURE_S = 30
const KILLS = 10

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/**
 * Measures deliveries to receivers in another process: how fast a backlog is sent; how long an event takes to healthy
 * receivers while 320 others answer, and while these begin to hang together; and how soon after a kill of the server
 * the first delivery arrives.
 */
export async function run(): Promise<Record<string, unknown>> {
  const receiver = await startChild({
    args: [program('support/receiver.ts')],
    ready: /^receiver ready (\S+)$/,
  })
  const figures = await withEngine(receiver, async (ctx, orgs) => ({
    drain: await drain(ctx, orgs, receiver),
    others_answer: await measure(ctx, orgs, receiver),
    others_hang: await measure(ctx, orgs, receiver, 'hang'),
  }))
  const afterKill = await killAgainAndAgain(receiver)
  await receiver.stop()
  return { webhooks: ORGS * (HEALTHY + OTHERS), hanging: ORGS * OTHERS, ...figures, after_kill: afterKill }
}

async function withEngine<T>(receiver: Child, work: (ctx: Context, orgs: OrgScope[]) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const log = createLog('error')
  const postgres = await startEmbeddedPostgres({ dataDir, log })
  try {
    await migrate(postgres.connection)
    const secrets = createSecrets(randomBytes(32))
    const context = await openContext({ connection: postgres.connection, log, secrets, baseUrl: 'http://127.0.0.1' })
    context.listen()
    const { ctx } = context
    const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
    const orgs: OrgScope[] = []
    for (let org = 0; org < ORGS; org += 1) orgs.push(await addOrg(ctx, outbound, receiver.match[1] ?? ''))
    await ctx.db.deleteFrom('webhookOutbox').execute()
    const workers = await startWebhookWorkers(ctx, { outbound })
    const result = await work(ctx, orgs)
    await workers.stop()
    await outbound.close()
    await context.close()
    return result
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function addOrg(ctx: Context, outbound: ReturnType<typeof createOutboundHttp>, url: string): Promise<OrgScope> {
  const [id, at] = [uuidv7(), ctx.clock.now()]
  await ctx.db.insertInto('org').values({ id, name: 'Bench', doc: '{}', createdAt: at, modifiedAt: at }).execute()
  const scope = systemScope('webhooks', id)
  const paths = [...Array(HEALTHY).fill('healthy'), ...Array(OTHERS).fill('other')]
  for (const [index, path] of paths.entries()) {
    const body = { url: `${url}/${path}/${index}`, topics: ['audits'], secret: 's', single_event_per_message: true }
    await createWebhook(ctx, scope, { body, outbound })
  }
  return scope
}

/** Commits an event whose message contains the time of the commit. */
async function addEvent(ctx: Context, scope: OrgScope): Promise<void> {
  await inTx(ctx, (tx) => appendAudit(tx, scope, { message: String(Date.now()), at: ctx.clock.now() }))
}

async function ask(receiver: Child, command: ReceiverCommand): Promise<void> {
  receiver.send(command)
}

async function reportOf(receiver: Child): Promise<ReceiverReport> {
  const report = receiver.nextMessage()
  await ask(receiver, 'report')
  return (await report) as ReceiverReport
}

async function drain(ctx: Context, orgs: readonly OrgScope[], receiver: Child): Promise<Record<string, unknown>> {
  const messages = orgs.length * (HEALTHY + OTHERS) * DRAIN_EVENTS
  await ask(receiver, 'reset')
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  for (let event = 0; event < DRAIN_EVENTS; event += 1) await Promise.all(orgs.map((scope) => addEvent(ctx, scope)))
  await untilDrained(ctx)
  const tookS = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const { received } = await reportOf(receiver)
  return {
    messages,
    duplicates: received - messages,
    per_s: Math.round(messages / tookS),
    // This process alone: other work on the machine changes this figure less than the rate.
    cpu_us_each: Math.round((user + system) / messages),
  }
}

async function untilDrained(ctx: Context): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ busy: boolean }>`
      select exists (select from webhook_outbox) or exists (select from webhook_message) as busy
    `.execute(ctx.db)
    if (rows[0]?.busy === false) return
    await delay(50)
  }
}

/** Runs a steady load; sends `command` to the receiver when the measurement begins. */
async function measure(
  ctx: Context,
  orgs: readonly OrgScope[],
  receiver: Child,
  command: ReceiverCommand = 'answer',
): Promise<Record<string, unknown>> {
  await load(ctx, orgs, WARM_UP_S)
  await ask(receiver, 'reset')
  await ask(receiver, command)
  const events = await load(ctx, orgs, MEASURE_S)
  const expected = events * HEALTHY
  let { healthyMs } = await reportOf(receiver)
  for (let waits = 0; healthyMs.length < expected && waits < 300; waits += 1) {
    await delay(100)
    ;({ healthyMs } = await reportOf(receiver))
  }
  const inOrder = healthyMs.toSorted((a, b) => a - b)
  const at = (share: number) => inOrder[Math.min(Math.floor(share * inOrder.length), inOrder.length - 1)]
  return {
    healthy: inOrder.length,
    missing: Math.max(expected - inOrder.length, 0),
    p50_ms: at(0.5),
    p90_ms: at(0.9),
    p99_ms: at(0.99),
    worst_ms: at(1),
  }
}

/** @returns The number of events. */
async function load(ctx: Context, orgs: readonly OrgScope[], seconds: number): Promise<number> {
  const gapMs = 1000 / (orgs.length * EVENTS_PER_S)
  const began = performance.now()
  let events = 0
  const made: Promise<void>[] = []
  while (performance.now() - began < seconds * 1000) {
    const scope = orgs[events % orgs.length]
    if (scope !== undefined) made.push(addEvent(ctx, scope))
    events += 1
    await delay(Math.max(began + events * gapMs - performance.now(), 0))
  }
  await Promise.all(made)
  return events
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
