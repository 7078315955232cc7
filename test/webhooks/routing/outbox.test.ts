import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { insertOutbox } from '../../../src/events/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { type Harness, createHarness } from '../harness.ts'
import { addEvent, outbox, url } from './router.ts'

const clock = createTestClock()
let harness: Harness
beforeEach(async () => {
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

it('inserts all events of a transaction or none, however many they are', async () => {
  const { scope, ctx } = harness
  const { orgId } = scope
  await harness.addWebhook({ url, topics: ['audits'] })
  await sql`alter table webhook_outbox add check (event ->> 'message' <> 'refused')`.execute(ctx.db)
  const common = { org_id: orgId, timestamp: 0, admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const insert = (messages: readonly string[]) => {
    const event = (message: string) => ({ ...common, id: uuidv7(), message })
    const events = messages.map((message) => ({ orgId, siteId: null, topic: 'audits' as const, event: event(message) }))
    return inTx(ctx, (tx) => insertOutbox(tx, events, clock.now()))
  }
  const messages = Array.from({ length: 3500 }, (_, index) => String(index))
  for (const place of [10, 1500, 3499]) {
    await expect(insert(messages.with(place, 'refused'))).rejects.toThrow(/check constraint/)
    expect(await outbox(harness)).toEqual([])
  }
  await insert(messages)
  const { rows } = await sql<{ message: string }>`
    select event ->> 'message' as message from webhook_outbox order by id`.execute(ctx.db)
  expect(rows.map(({ message }) => message)).toEqual(messages)
}, 60_000)

it('reports an event that can not be encoded while others are inserted, and inserts none', async () => {
  const { scope, ctx } = harness
  const { orgId } = scope
  await harness.addWebhook({ url, topics: ['audits'] })
  const common = { org_id: orgId, timestamp: 0, admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const faulty = { ...common, id: uuidv7(), message: '' }
  Object.defineProperty(faulty, 'toJSON', {
    value: () => {
      throw new Error('not encoded')
    },
  })
  const events = Array.from({ length: 1500 }, () => ({ ...common, id: uuidv7(), message: '' })).with(1400, faulty)
  const rows = events.map((event) => ({ orgId, siteId: null, topic: 'audits' as const, event }))
  await expect(inTx(ctx, (tx) => insertOutbox(tx, rows, clock.now()))).rejects.toThrow('not encoded')
  expect(await outbox(harness)).toEqual([])
})

it('never writes an event that no enabled webhook of its place subscribes to', async () => {
  const site = await harness.addSite('With a webhook')
  const other = await harness.addSite('Without a webhook')
  await addEvent(harness, harness.scope, 'no webhook', site)
  await harness.addWebhook({ url, topics: ['alarms'] })
  await harness.addWebhook({ url, topics: ['audits'], enabled: false })
  await harness.addWebhook({ url, topics: ['audits'] }, site)
  await addEvent(harness, harness.scope, 'another site', other)
  await addEvent(harness, harness.scope, 'the organization')
  await addEvent(harness, await harness.addOrg(), 'another organization')
  expect(await outbox(harness)).toEqual([])
  await addEvent(harness, harness.scope, 'its site', site)
  expect(await outbox(harness)).toHaveLength(1)
  await harness.addWebhook({ url, topics: ['audits'] })
  for (const siteId of [null, site, other]) await addEvent(harness, harness.scope, 'everywhere', siteId)
  expect(await outbox(harness)).toHaveLength(4)
})
