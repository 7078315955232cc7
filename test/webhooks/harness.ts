import { waitUntil } from '../support/wait-until.ts'
import { uuidv7 } from 'uuidv7'
import { type OrgScope, systemScope, systemScopeOf } from '../../src/access/scope.ts'
import { appendAudit } from '../../src/events/append.ts'
import { insertOutbox } from '../../src/events/store.ts'
import { mergeSite } from '../../src/orgs/org.ts'
import { insertSite } from '../../src/orgs/sites/store.ts'
import { type Clock, addMs } from '../../src/platform/time/clock.ts'
import { nameLateStop } from '../../src/platform/time/late-stop.ts'
import type { Context } from '../../src/platform/context.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { type OutboundHttp, createOutboundHttp } from '../../src/platform/outbound/outbound-http.ts'
import { insertNewWebhook } from '../../src/webhooks/create-webhook.ts'
import { searchDeliveries } from '../../src/webhooks/records/store.ts'
import { type Webhook, mergeWebhook } from '../../src/webhooks/webhook.ts'
import { presentDelivery } from '../../src/webhooks/records/wire.ts'
import { type WebhookWorkerOptions, startWebhookWorkers } from '../../src/webhooks/workers.ts'
import type { TestConnection } from '../support/database/database.ts'
import { createTestContext } from '../support/servers/server.ts'
import { insertOrg } from '../../src/orgs/store.ts'

/** The webhook engine with a separate database and one organization. */
export interface Harness {
  readonly ctx: Context
  readonly connection: TestConnection
  readonly scope: OrgScope
  readonly outbound: OutboundHttp
  addSite(name: string): Promise<string>
  /** Adds another organization. */
  addOrg(): Promise<OrgScope>
  addWebhook(body: Record<string, unknown>, siteId?: string | null, of?: OrgScope): Promise<Webhook>
  /** Commits an audit record with its event. */
  audit(message: string, siteId?: string | null, of?: OrgScope): Promise<void>
  /** Commits device events in one transaction. @param macOf Returns the MAC of the device with the name. */
  deviceEvents(names: readonly string[], macOf?: (name: string) => string): Promise<void>
  /** Wakes the workers, as needed after the clock has advanced. */
  wake(): void
  start(options?: Partial<WebhookWorkerOptions>): Promise<{ stop(): Promise<void> }>
  deliveries(): Promise<
    readonly {
      messageId: string
      topic: string
      status: string
      statusCode: number | null
      error: string | null
      attempt: number
    }[]
  >
  /** Lists the attempts of a webhook as clients get them, oldest first. */
  recorded(webhookId: string): Promise<readonly ReturnType<typeof presentDelivery>[]>
  /** Returns the number of waiting messages, and the number that the lanes have counted. */
  waiting(): Promise<{ messages: number; pending: number }>
  /** Resolves when no event is left in the outbox, and no message waits. */
  drained(): Promise<void>
  close(): Promise<void>
}

/**
 * For tests that wait for the end of a lane, and need none that is held without messages: it is released at once, not after
 * a second.
 */
export const releaseAtOnce: Partial<WebhookWorkerOptions> = { minIdleMs: 0 }

/** @param ofWorkers Options of all workers that it starts. */
export async function createHarness(clock: Clock, ofWorkers: Partial<WebhookWorkerOptions> = {}): Promise<Harness> {
  const context = await createTestContext(clock)
  const { ctx } = context
  const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
  const scope = await addOrg()
  const { orgId } = scope
  const running = new Set<{ stop(): Promise<void> }>()

  async function waiting(): Promise<{ messages: number; pending: number }> {
    // A worker deletes the messages of deleted webhooks later.
    const ofWebhooks = ctx.db.selectFrom('webhook').select('id')
    const messages = await ctx.db
      .selectFrom('webhookMessage')
      .select('id')
      .where('webhookId', 'in', ofWebhooks)
      .execute()
    const lanes = await ctx.db.selectFrom('webhookLane').select('pending').execute()
    return { messages: messages.length, pending: lanes.reduce((sum, { pending }) => sum + pending, 0) }
  }

  async function addOrg(): Promise<OrgScope> {
    const added = systemScope('webhooks', uuidv7())
    await inTx(ctx, (tx) => insertOrg(tx, added, { name: 'Org', doc: {}, at: clock.now() }))
    return added
  }

  return {
    ctx,
    connection: context.database.connection,
    scope,
    outbound,
    // Neither sites nor webhooks get an audit record, because its event would be the first one of every test: a router that runs
    // may have sent it before the test could delete it.
    async addSite(name) {
      const content = mergeSite(null, { name })
      const site = { ...content, id: uuidv7(), at: clock.now() }
      return (await inTx(ctx, (tx) => insertSite(tx, scope, site))).id
    },
    addOrg,
    async addWebhook(body, siteId = null, of = scope) {
      const { urls: _, ...content } = mergeWebhook(null, body, siteId)
      const place = systemScopeOf('operator', { orgId: of.orgId, siteId })
      return inTx(ctx, (tx) => insertNewWebhook(ctx, tx, place, content))
    },
    audit: (message, siteId = null, of = scope) =>
      inTx(ctx, async (tx) => {
        await appendAudit(tx, of, { message, siteId, at: clock.now() })
      }),
    deviceEvents: (names, macOf = () => '001122334455') =>
      inTx(ctx, async (tx) => {
        const timestamp = clock.now().getTime() / 1000
        const events = names.map((name) => ({
          orgId,
          siteId: null,
          topic: 'device-events' as const,
          event: {
            device_name: name,
            device_type: 'ap' as const,
            ev_type: 'notice' as const,
            mac: macOf(name),
            org_id: orgId,
            timestamp,
            type: 'AP_CONNECTED',
          },
        }))
        await insertOutbox(tx, events, clock.now())
      }),
    wake() {
      ctx.wakes.wake('outbox')
      ctx.wakes.wake('deliveries')
    },
    async start(options = {}) {
      const workers = await startWebhookWorkers(ctx, { outbound, random: () => 0.5, ...ofWorkers, ...options })
      running.add(workers)
      return {
        async stop() {
          running.delete(workers)
          await workers.stop()
        },
      }
    },
    deliveries: () => ctx.db.selectFrom('webhookDelivery').selectAll().orderBy('createdAt').orderBy('id').execute(),
    async recorded(webhookId) {
      const range = { start: new Date(0), end: addMs(clock.now(), 1000), conditions: {} }
      const page = { limit: 100, page: 1, sort: { by: 'timestamp', direction: 'asc' } } as const
      const { rows } = await searchDeliveries(ctx.db, scope, { webhookId, ...range, ...page })
      return rows.map(presentDelivery)
    },
    waiting,
    async drained() {
      await waitUntil('everything delivered', async () => {
        const outbox = await ctx.db.selectFrom('webhookOutbox').select('id').execute()
        const { messages, pending } = await waiting()
        return outbox.length === 0 && messages === 0 && pending === 0
      })
    },
    async close() {
      for (const workers of running) await nameLateStop(ctx.log, 'webhook workers', workers.stop())
      await nameLateStop(ctx.log, 'outbound http', outbound.close())
      await context.close()
    },
  }
}
