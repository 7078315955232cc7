import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { listDoubtfulLanes, lockLanes, recountLanes } from '../../../src/webhooks/lanes/store.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createHarness } from '../harness.ts'

/** Their texts are long, so the messages have many more pages than the index. */
const MESSAGES = 20_000
const FEW_PAGES = 100

it('counts the messages of a lane without reading them', async () => {
  const clock = createTestClock()
  const harness = await createHarness(clock)
  onTestFinished(() => harness.close())
  const { ctx, scope } = harness
  const { orgId } = scope
  const { id: webhookId } = await harness.addWebhook({ url: 'http://127.0.0.1:1/', topics: ['audits'] })
  await sql`
    insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, due_at, created_at)
    select ${orgId}, gen_random_uuid(), ${webhookId}, 'audits', convert_to(repeat(md5(n::text), 30), 'UTF8'), 1,
      ${clock.now()}::timestamptz + n * interval '1 ms', ${clock.now()}
    from generate_series(1, ${MESSAGES}::integer) n`.execute(ctx.db)
  await waitUntil('all messages are visible to everybody', async () => {
    await sql`vacuum analyze webhook_message`.execute(ctx.db)
    const { rows } = await sql<{ isDone: boolean }>`
      select relallvisible = relpages and relpages > ${10 * FEW_PAGES} as is_done
      from pg_class where oid = 'webhook_message'::regclass`.execute(ctx.db)
    return rows[0]?.isDone === true
  })
  const countPages = async (tx: Tx): Promise<number> => {
    const { rows } = await sql<{ pages: number }>`
      select pg_stat_get_xact_blocks_fetched('webhook_message'::regclass)::integer as pages`.execute(tx)
    return rows[0]?.pages ?? NaN
  }
  /** Expects that the work reads few pages of messages. */
  const readingFew = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTx(ctx, async (tx) => {
      const before = await countPages(tx)
      const result = await work(tx)
      expect((await countPages(tx)) - before).toBeLessThan(FEW_PAGES)
      return result
    })
  const lane = { orgId, webhookId }
  expect(await readingFew((tx) => listDoubtfulLanes(tx, clock.now()))).toEqual([{ ...lane, isDefect: true }])
  await readingFew(async (tx) => {
    await lockLanes(tx, [lane])
    await recountLanes(tx, [lane])
  })
  expect(await harness.waiting()).toMatchObject({ messages: MESSAGES, pending: MESSAGES })
}, 60_000)
