import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import { uuidv7 } from '../../../src/platform/uuidv7.ts'
import { type OrgScope, systemScope } from '../../../src/access/scope.ts'
import { openContext } from '../../../src/app/open-context.ts'
import { appendAudit } from '../../../src/events/append.ts'
import { insertOutbox } from '../../../src/events/store.ts'
import { epochS } from '../../../src/platform/time/clock.ts'
import type { Context } from '../../../src/platform/context.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import type { PostgresConnection } from '../../../src/platform/embedded-postgres/embedded-postgres.ts'
import { type OutboundHttp, createOutboundHttp } from '../../../src/platform/outbound/outbound-http.ts'
import { createSecrets } from '../../../src/platform/secrets.ts'
import { createWebhook } from '../../../src/webhooks/create-webhook.ts'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import { startWebhookWorkers } from '../../../src/webhooks/workers.ts'
import { withDatabase } from '../database.ts'
import type { Child } from '../child.ts'
import type { ReceiverCommand, ReceiverReport } from './receiver.ts'
import { countRead } from '../database-statistics.ts'
import { insertOrg } from '../../../src/orgs/store.ts'

/** The engine with a separate database, in this process. */
export interface Engine {
  readonly ctx: Context
  readonly orgs: readonly OrgScope[]
  /** The database, for connections of one's own. */
  readonly connection: PostgresConnection
  /** The id of PostgreSQL's main process. */
  readonly postgresPid: number
  /** How many statements this process has sent. */
  readonly statements: () => number
  /** How many rows and entries of indexes the database has read. */
  readonly countRead: () => Promise<number>
  /** Adds an organization with a webhook for each of these paths of the receiver; it is not among `orgs`. */
  readonly addOrg: (paths: readonly string[], options?: WebhookOptions) => Promise<OrgScope>
}

interface WebhookOptions {
  /** Default: each event has a message of its own. */
  readonly batched?: boolean
}

/** @param paths Each organization gets a webhook for each of these paths of the receiver. */
export async function withEngine<T>(
  {
    receiver,
    orgs: count,
    paths,
  }: { readonly receiver: Child; readonly orgs: number; readonly paths: readonly string[] },
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  return withDatabase('error', async (database) => {
    const context = await openContext({ ...database, secrets: createSecrets(randomBytes(32)) })
    context.listen()
    const { ctx } = context
    const statements = countStatements([context.pool, context.queuePool])
    const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
    const orgs: OrgScope[] = []
    const add: Engine['addOrg'] = async (of, more = {}) => {
      const urls = of.map((path) => `${receiver.match[1]}/${path}`)
      return addOrg(ctx, outbound, { ...more, urls })
    }
    for (let org = 0; org < count; org += 1) orgs.push(await add(paths))
    await ctx.db.deleteFrom('webhookOutbox').execute()
    const workers = await startWebhookWorkers(ctx, { outbound })
    const result = await work({
      ctx,
      orgs,
      connection: database.connection,
      postgresPid: await postgresPidOf(ctx),
      statements,
      countRead: () => countRead(context.pool, context.pools),
      addOrg: add,
    })
    await workers.stop()
    await outbound.close()
    await context.close()
    return result
  })
}

/** Counts what is sent on connections of the pools from now on. */
function countStatements(pools: readonly pg.Pool[]): () => number {
  const counted = new WeakSet<pg.PoolClient>()
  let statements = 0
  function count(client: pg.PoolClient): void {
    if (counted.has(client)) return
    counted.add(client)
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    Object.assign(client, {
      query: (...args: unknown[]) => {
        statements += 1
        return query(...args)
      },
    })
  }
  for (const pool of pools) pool.on('acquire', count)
  return () => statements
}

interface NewOrg extends WebhookOptions {
  readonly urls: readonly string[]
}

async function addOrg(ctx: Context, outbound: OutboundHttp, { urls, batched = false }: NewOrg): Promise<OrgScope> {
  const scope = systemScope('webhooks', uuidv7())
  await inTx(ctx, (tx) => insertOrg(tx, scope, { name: 'Bench', doc: {}, at: ctx.clock.now() }))
  for (const [index, url] of urls.entries()) {
    const body = {
      url: `${url}/${index}`,
      topics: ['audits'],
      secret: 's',
      single_event_per_message: !batched,
      verify_cert: false,
    }
    await createWebhook(ctx, scope, { body, outbound, limits: defaultWebhookLimits })
  }
  return scope
}

/** Sessions are children of the main process. */
async function postgresPidOf(ctx: Context): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(ctx.db)
  const stat = await readFile(`/proc/${rows[0]?.pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** Commits an event whose message contains the time of the commit. */
export async function addEvent(ctx: Context, scope: OrgScope): Promise<void> {
  await inTx(ctx, (tx) => appendAudit(tx, scope, { message: String(Date.now()), at: ctx.clock.now() }))
}

/** Commits many events of an organization in one transaction. */
export async function addEvents(ctx: Context, { orgId }: OrgScope, count: number): Promise<void> {
  const at = ctx.clock.now()
  const [timestamp, admin] = [epochS(at), { admin_id: null, admin_name: 'Bench', src_ip: '', user_agent: null }]
  const events = Array.from({ length: count }, () => ({
    orgId,
    siteId: null,
    topic: 'audits' as const,
    event: { id: uuidv7(), timestamp, org_id: orgId, message: String(at.getTime()), ...admin },
  }))
  await inTx(ctx, (tx) => insertOutbox(tx, events, at))
}

export async function ask(receiver: Child, command: ReceiverCommand): Promise<void> {
  receiver.send(command)
}

export async function reportOf(receiver: Child): Promise<ReceiverReport> {
  const report = receiver.nextMessage()
  await ask(receiver, 'report')
  return (await report) as ReceiverReport
}
