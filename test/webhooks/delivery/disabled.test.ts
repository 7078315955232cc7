import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { deleteWebhook } from '../../../src/webhooks/delete-webhook.ts'
import { deleteMessagesOfDeleted } from '../../../src/webhooks/deletions/deletions.worker.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { pingWebhook } from '../../../src/webhooks/pings/ping-webhook.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Receiver, status } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
})

describe('a disabled webhook', () => {
  it('gets only pings, and no ping is retried', async () => {
    const webhook = await harness.addWebhook({ url: receiver.url, topics: ['audits'], enabled: false, name: 'Off' })
    receiver.answer(status(500))
    await harness.start()
    await harness.audit('not for you')
    const { id } = webhook
    await pingWebhook(harness.ctx, harness.scope, id)
    const [ping] = await receiver.waitFor(1)
    const timestamp = clock.now().getTime() / 1000
    expect(ping).toMatchObject({ topic: 'ping' })
    expect(ping?.events).toEqual([{ id: webhook.id, name: 'Off', timestamp }])
    await waitUntil('the record', async () => (await harness.deliveries()).length === 1)
    clock.advance(3600e3)
    harness.wake()
    expect(await harness.deliveries()).toMatchObject([{ status: 'failure', statusCode: 500, topic: 'ping' }])
    expect(receiver.received.length).toBe(1)
  })

  it('keeps its waiting messages until it is enabled again', async () => {
    const webhook = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    receiver.answer(status(503))
    await harness.start()
    await harness.audit('parked')
    await waitUntil('failure kept', async () => (await harness.deliveries()).length === 1)
    const { id } = webhook
    const change = (body: Record<string, unknown>) =>
      updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })
    await change({ enabled: false })
    await waitUntil('its own audit event passed by', async () => {
      const outbox = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
      return outbox.length === 0
    })
    clock.advance(3600e3)
    harness.wake()
    expect(await harness.waiting()).toEqual({ messages: 1, pending: 1 })
    receiver.answer(status(200))
    await change({ enabled: true })
    await waitUntil('parked message sent', () => receiver.received.length >= 2)
    expect(receiver.received[1]?.events).toMatchObject([{ message: 'parked' }])
  })
})

describe('a deleted webhook', () => {
  it('loses all its waiting messages when it is deleted', async () => {
    const webhook = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    receiver.answer(status(500))
    await harness.start()
    await harness.audit('one')
    await waitUntil('failure kept', async () => (await harness.deliveries()).length === 1)
    await deleteWebhook(harness.ctx, harness.scope, webhook.id)
    clock.advance(3600e3)
    harness.wake()
    await harness.drained()
    expect(receiver.received.length).toBe(1)
  })

  it('loses a message, too, that is being added while it is deleted', async () => {
    const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    const { ctx, scope } = harness
    const isWaiting = async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      `.execute(ctx.db)
      return rows.length === 1
    }
    const deleted: Promise<void>[] = []
    await ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('webhook').select('id').where('id', '=', id).forKeyShare().execute()
      deleted.push(deleteWebhook(ctx, scope, id))
      await waitUntil('the deletion waits', isWaiting)
      const message = { orgId: scope.orgId, id: randomUUID(), webhookId: id, topic: 'audits', eventCount: 1 }
      await enqueueMessages(tx, [{ ...message, body: Buffer.from('{}'), orderKey: null }], clock.now())
    })
    await Promise.all(deleted)
    await deleteMessagesOfDeleted(ctx, { pauseFactor: 0 })
    expect(await harness.waiting()).toEqual({ messages: 0, pending: 0 })
  })
})
