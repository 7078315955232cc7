import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { appendAudit } from '../../../src/events/append.ts'
import { systemScope, systemScopeOf } from '../../../src/access/scope.ts'
import { searchDeliveries } from '../../../src/webhooks/records/store.ts'
import { readWebhookSamples } from '../../../src/webhooks/metrics/store.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { type Received, type Receiver, allValid, signaturesOf, startReceiver, status } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
})

describe('delivery', () => {
  it('is counted for Prometheus by result, with the webhooks and messages that wait', async () => {
    await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    await harness.addWebhook({ url: receiver.url, topics: [], enabled: false })
    await harness.start()
    await harness.audit('first')
    await harness.drained()
    receiver.answer(status(500))
    await harness.audit('second')
    await receiver.waitFor(2)
    const scrape = async () => harness.ctx.metrics.encode(await readWebhookSamples(harness.ctx.db))
    await waitUntil('the failure written', async () =>
      (await scrape()).includes('signalbox_webhooks{state="failing"} 1'),
    )
    const lines = (await scrape()).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'signalbox_webhook_attempts_total{result="delivered"} 1',
        'signalbox_webhook_attempts_total{result="retry"} 1',
        'signalbox_webhook_attempt_seconds_count 2',
        'signalbox_webhooks{state="disabled"} 1',
        'signalbox_webhooks{state="failing"} 1',
        'signalbox_webhook_messages_waiting{state="failing"} 1',
      ]),
    )
  })

  it('sends a media type and an agent that the webhook sets, once and in any spelling', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'USER-AGENT': 'mine' }
    await harness.addWebhook({ url: receiver.url, topics: ['audits'], headers })
    await harness.start()
    await harness.audit('first')
    const [message] = await receiver.waitFor(1)
    expect(message?.headers).toMatchObject({ 'content-type': headers['content-type'], 'user-agent': 'mine' })
    await harness.drained()
  })

  it('sends signed messages whose signatures verify, and records the exchange', async () => {
    const secret = 'sécret of the lab'
    const headers = { 'X-Lab': '7', Authorization: 'Bearer hidden' }
    const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], secret, headers })
    receiver.answer((_request, response) => response.writeHead(202, { 'x-answer': 'yes' }).end('thank\0you'))
    await harness.start()
    await harness.audit('first')
    const [message] = await receiver.waitFor(1)
    expect(message).toMatchObject({ topic: 'audits', events: [{ message: 'first', org_id: harness.scope.orgId }] })
    expect(message && signaturesOf(message, secret)).toEqual(allValid)
    expect(message?.headers).toMatchObject({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'x-lab': '7',
      authorization: 'Bearer hidden',
    })
    await harness.drained()
    const [delivery] = await harness.deliveries()
    expect(delivery).toMatchObject({
      status: 'success',
      statusCode: 202,
      error: null,
      attempt: 1,
      reqUrl: receiver.url,
    })
    const [exchange] = await harness.recorded(id)
    expect(exchange).toMatchObject({
      req_payload: message?.raw.toString('utf8'),
      resp_body: 'thank\uFFFDyou',
      remote_address: '127.0.0.1',
    })
    expect(JSON.parse(exchange?.resp_headers ?? '')).toMatchObject({ 'x-answer': 'yes' })
    const sent = JSON.parse(exchange?.req_headers ?? '')
    const expected = Object.entries({ ...message?.headers, 'x-lab': '***', authorization: '***' })
    const ofConnection = new Set(['host', 'connection', 'content-length'])
    expect(Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]))).toEqual(
      Object.fromEntries(expected.filter(([name]) => !ofConnection.has(name))),
    )
  })

  it('sends neither signature nor secret header without a secret, but always an id and a time', async () => {
    await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    await harness.start()
    await harness.audit('plain')
    const [message] = await receiver.waitFor(1)
    expect(message?.headers['webhook-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(message?.headers['webhook-timestamp']).toBe(String(clock.now().getTime() / 1000))
    expect(Object.keys(message?.headers ?? {}).filter((name) => name.includes('signature'))).toEqual([])
  })

  it('also signs with replaced secrets, each until its own end, and shows when that is', async () => {
    const webhook = await harness.addWebhook({ url: receiver.url, topics: ['device-updowns', 'audits'], secret: 'old' })
    const { id } = webhook
    const change = (body: Record<string, unknown>) =>
      updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })
    /** Returns which secrets made the signatures of the message, in order. */
    const signersOf = (message: Received) => {
      const lists = {
        standard: String(message.headers['webhook-signature']).split(' '),
        v2: [message.headers['x-mist-signature-v2'], ...formerOf(message, 'x-mist-signature-v2-former')],
        v1: [message.headers['x-mist-signature'], ...formerOf(message, 'x-mist-signature-former')],
      }
      const names = { standard: 'webhook-signature', v2: 'x-mist-signature-v2', v1: 'x-mist-signature' } as const
      return Object.entries(lists).map(([scheme, list]) =>
        list.map((signature) =>
          ['old', 'mid', 'new'].find((secret) => {
            const alone = {
              ...message,
              headers: { ...message.headers, [names[scheme as keyof typeof names]]: signature },
            }
            return signaturesOf(alone, secret)[scheme as keyof typeof names]
          }),
        ),
      )
    }
    const formerOf = ({ headers }: Received, name: string) => headers[name]?.toString().split(',') ?? []
    await harness.start()
    await change({ secret: 'mid', secret_overlap_s: 7200 })
    // Two changes that are routed at once would share a message.
    await receiver.waitFor(1)
    const rotated = await change({ secret: 'new', secret_overlap_s: 3600 })
    const [hour, twoHours] = [3600, 7200].map((seconds) => clock.now().getTime() + seconds * 1000)
    expect(rotated.retired.map(({ untilMs }) => untilMs)).toEqual([hour, twoHours])
    const [, first] = await receiver.waitFor(2)
    expect(first && signersOf(first)).toEqual(Array.from({ length: 3 }, () => ['new', 'mid', 'old']))
    clock.advance(3600e3)
    await change({ name: 'renamed' })
    const [, , second] = await receiver.waitFor(3)
    expect(second && signersOf(second)).toEqual(Array.from({ length: 3 }, () => ['new', 'old']))
    clock.advance(3600e3)
    await change({ name: 'renamed again' })
    const [, , , third] = await receiver.waitFor(4)
    expect(third && signaturesOf(third, 'new')).toEqual(allValid)
    expect(third && signersOf(third)).toEqual(Array.from({ length: 3 }, () => ['new']))
  })

  it('never sends events of a transaction that was rolled back', async () => {
    await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    await harness.start()
    const rolledBack = inTx(harness.ctx, async (tx) => {
      await appendAudit(tx, harness.scope, { message: 'never', at: clock.now() })
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await harness.audit('after')
    await receiver.waitFor(1)
    await harness.drained()
    expect(receiver.received.flatMap(({ events }) => events.map((event) => String(event['message'])))).toEqual([
      'after',
    ])
  })

  it('gathers events of a lingering topic into messages of at most a hundred, in order', async () => {
    await harness.addWebhook({ url: receiver.url, topics: ['device-events'] })
    const names = Array.from({ length: 250 }, (_, index) => `ap-${index}`)
    await harness.deviceEvents(names.slice(0, 130))
    await harness.start()
    clock.advance(500)
    await harness.deviceEvents(names.slice(130))
    expect(await harness.waiting()).toEqual({ messages: 0, pending: 0 })
    clock.advance(500)
    harness.wake()
    await receiver.waitFor(3)
    await harness.drained()
    expect(receiver.received.map(({ events }) => events.length)).toEqual([100, 100, 50])
    expect(receiver.received.flatMap(({ events }) => events.map((event) => event['device_name']))).toEqual(names)
  })

  it('sends one event per message if the webhook is configured so', async () => {
    await harness.addWebhook({ url: receiver.url, topics: ['device-events'], single_event_per_message: true })
    await harness.deviceEvents(['a', 'b', 'c'])
    clock.advance(1000)
    await harness.start()
    await receiver.waitFor(3)
    expect(receiver.received.map(({ events }) => events.length)).toEqual([1, 1, 1])
  })

  it("sends an organization's webhook the events of all its sites, a site's webhook those of the site, and only subscribed topics", async () => {
    const [here, there] = [await harness.addSite('Here'), await harness.addSite('There')]
    const site = await startReceiver()
    await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    await harness.addWebhook({ url: site.url, topics: ['audits'] }, here)
    await harness.addWebhook({ url: site.url, topics: ['device-updowns'] })
    await harness.start()
    await harness.audit('org')
    await harness.audit('here', here)
    await harness.audit('there', there)
    await harness.drained()
    const messagesOf = ({ received }: Receiver) =>
      received.flatMap(({ events }) => events.map((event) => String(event['message'])))
    expect(messagesOf(receiver).toSorted()).toEqual(['here', 'org', 'there'])
    expect(messagesOf(site)).toEqual(['here'])
    await site.kill()
  })
})

describe('a receiver that fails', () => {
  it('gets the message again with the same id and bytes until it accepts it', async () => {
    const secret = 's'
    await harness.addWebhook({ url: receiver.url, topics: ['audits'], secret })
    receiver.answer(status(500))
    await harness.start()
    await harness.audit('stubborn')
    await receiver.waitFor(1)
    await waitUntil('first failure kept', async () => (await harness.deliveries()).length === 1)
    clock.advance(4999)
    harness.wake()
    expect(receiver.received.length).toBe(1)
    clock.advance(1)
    harness.wake()
    await receiver.waitFor(2)
    receiver.answer(status(204))
    await waitUntil('second failure kept', async () => (await harness.deliveries()).length === 2)
    clock.advance(30_000)
    harness.wake()
    await receiver.waitFor(3)
    await harness.drained()
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ raw }) => raw.toString('utf8'))).size).toBe(1)
    for (const message of receiver.received) expect(signaturesOf(message, secret)).toEqual(allValid)
    expect((await harness.deliveries()).map(({ attempt, statusCode, error }) => [attempt, statusCode, error])).toEqual([
      [1, 500, 'answered 500'],
      [2, 500, 'answered 500'],
      [3, 204, null],
    ])
  })

  it('loses no message when it is killed and restarted', async () => {
    await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
    await receiver.kill()
    await harness.start()
    const messages = Array.from({ length: 12 }, (_, index) => `m${index}`)
    for (const message of messages) await harness.audit(message)
    await waitUntil('the breaker is open', async () => {
      const [lane] = await harness.ctx.db.selectFrom('webhookLane').selectAll().execute()
      return lane !== undefined && lane.openUntil !== null && lane.leaseUntil === null
    })
    const back = await startReceiver(receiver.port)
    await waitUntil('all delivered', async () => {
      clock.advance(5000)
      harness.wake()
      return (await harness.waiting()).messages === 0
    })
    const arrived = back.received.flatMap(({ events }) => events.map((event) => String(event['message'])))
    // The clock is ahead of the requests in flight, so a lane may be taken over: delivery is at least once.
    expect([...new Set(arrived)].toSorted()).toEqual(messages.toSorted())
    await back.kill()
  })

  it('is not followed when it redirects', async () => {
    const elsewhere = await startReceiver()
    await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    receiver.answer(status(302, { location: elsewhere.url }))
    await harness.start()
    await harness.audit('moved')
    await waitUntil('failure kept', async () => (await harness.deliveries()).length === 1)
    expect(await harness.deliveries()).toMatchObject([{ status: 'failure', statusCode: 302 }])
    expect(elsewhere.received).toEqual([])
    await elsewhere.kill()
  })

  it('gets nothing more after 410, with an audit record, and its waiting messages are kept', async () => {
    const webhook = await harness.addWebhook({ url: receiver.url, topics: ['audits'], name: 'Old' })
    receiver.answer(status(410))
    await harness.start()
    await harness.audit('gone')
    await waitUntil('disabled', async () => {
      const row = await harness.ctx.db.selectFrom('webhook').select('enabled').executeTakeFirstOrThrow()
      return !row.enabled
    })
    const { id } = webhook
    const records = await harness.ctx.db.selectFrom('auditLog').select(['message', 'after']).execute()
    expect(records).toContainEqual({
      message: 'Disable Webhook "Old": its receiver answered 410 Gone',
      after: { enabled: false, webhook_id: id },
    })
    const disabled = await harness.ctx.db.selectFrom('webhook').select(['disabledAt', 'disabledWhy']).execute()
    expect(disabled).toEqual([{ disabledAt: clock.now(), disabledWhy: 'gone' }])
    const events = await harness.ctx.db.selectFrom('systemEvent').select(['type', 'text', 'details']).execute()
    const text = expect.stringContaining('Webhook "Old" ')
    expect(events).toEqual([{ type: 'WEBHOOK_DISABLED', text, details: { webhook_id: id } }])
    await harness.audit('not kept')
    receiver.answer(status(200))
    await updateWebhook(harness.ctx, harness.scope, { id, body: { enabled: true }, outbound: harness.outbound })
    await waitUntil('kept message sent', () => receiver.received.length >= 2)
    expect(receiver.received[1]?.events).toMatchObject([{ message: 'gone' }])
  })
})

describe('the record of deliveries', () => {
  it("is empty in the scope of another place, even for the webhook's id", async () => {
    const webhook = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
    await harness.start()
    await harness.audit('one')
    await receiver.waitFor(1)
    const now = clock.now().getTime()
    const search = {
      webhookId: webhook.id,
      start: new Date(now - 60_000),
      end: new Date(now + 60_000),
      conditions: {},
      sort: { by: 'timestamp' as const, direction: 'asc' as const },
      limit: 10,
      page: 1,
    }
    const { db } = harness.ctx
    const { orgId } = harness.scope
    await waitUntil('the record', async () => (await searchDeliveries(db, harness.scope, search)).total === 1)
    const site = systemScopeOf('webhooks', { orgId, siteId: await harness.addSite('Elsewhere') })
    expect(await searchDeliveries(db, site, search)).toMatchObject({ rows: [], total: 0 })
    const other = systemScope('webhooks', randomUUID())
    expect(await searchDeliveries(db, other, search)).toMatchObject({ rows: [], total: 0 })
  })
})
