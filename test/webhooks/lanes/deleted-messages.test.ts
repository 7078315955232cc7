import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { expect, it, onTestFinished } from 'vitest'
import { type Db, inTx } from '../../../src/platform/database/db.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { countReads, reportReads } from '../../support/database/reads.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { createHarness } from '../harness.ts'

/** So many that a connection has a plan for any webhook, which PostgreSQL makes after the fifth execution. */
const DELETED = 8
const MESSAGES = 3000

it('the deletion of a webhook reads none of the messages of others, by a plan that was made while there were none', async () => {
  const clock = createTestClock()
  const harness = await createHarness(clock)
  onTestFinished(() => harness.close())
  const { ctx } = harness
  const { orgId } = harness.scope
  const ids: string[] = []
  for (let n = 0; n < DELETED + 2; n += 1)
    ids.push((await harness.addWebhook({ url: 'http://127.0.0.1:1/', topics: ['audits'] })).id)
  const [other = '', last = '', ...first] = ids
  await sql`analyze webhook_message`.execute(ctx.db)
  const read = await ctx.db.connection().execute(async (db) => {
    const remove = (webhookId: string) => sql`delete from webhook where id = ${webhookId}`.execute(db)
    for (const webhookId of first) await remove(webhookId)
    const message = { orgId, webhookId: other, topic: 'audits', body: Buffer.from('{}'), eventCount: 1, orderKey: null }
    const messages = Array.from({ length: MESSAGES }, () => ({ ...message, id: uuidv7() }))
    await inTx({ db: ctx.keyDb, wakes: ctx.wakes }, (tx) => enqueueMessages(tx, messages, clock.now()))
    const before = await reportedReads(db)
    await remove(last)
    return (await reportedReads(db)) - before
  })
  expect(read).toBeLessThan(MESSAGES)
})

/** Counts the rows of messages, and the entries of their indexes, that have been read. */
async function reportedReads(db: Db): Promise<number> {
  await reportReads(db)
  return countReads(db, { tables: ['webhook_message'], unit: 'tuples_returned' })
}
