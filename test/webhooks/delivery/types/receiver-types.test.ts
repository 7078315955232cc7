import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { mergeWebhook } from '../../../../src/webhooks/webhook.ts'
import { serviceAccount } from '../../../support/servers/service-account.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { type Peer, startPubsub, startSns, startSplunk } from './cloud-peers.ts'
import { type Harness, createHarness, releaseAtOnce } from '../../harness.ts'

const clock = createTestClock()
let harness: Harness
beforeAll(async () => {
  harness = await createHarness(clock, releaseAtOnce)
  await harness.start()
})
afterAll(() => harness.close())

const secret = 'the secret'
const credentials = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG' }

async function open(peer: Promise<Peer>): Promise<Peer> {
  const started = await peer
  onTestFinished(() => started.close())
  return started
}

/** Adds a webhook of the type, the only one that gets the events of the test. */
async function addWebhook(body: Record<string, unknown>): Promise<string> {
  await harness.ctx.db.deleteFrom('webhook').execute()
  await harness.ctx.db.deleteFrom('webhookDelivery').execute()
  return (await harness.addWebhook({ secret, topics: ['device-events'], ...body })).id
}

/** Emits an event of a device with this name. @returns The record of its delivery. */
async function deliver(text: string): Promise<Record<string, unknown>> {
  const before = (await harness.deliveries()).length
  await harness.deviceEvents([text])
  // Events of this topic wait for others.
  clock.advance(1000)
  harness.wake()
  const records = await waitUntil('the record', async () => {
    const found = await harness.deliveries()
    return found.length > before && found
  })
  return { ...records.at(-1) }
}

const message = (text: string) => ({ topic: 'device-events', events: [expect.objectContaining({ device_name: text })] })

/** True if the attributes that a subscriber gets are the signature of the message. */
function isSigned(attributes: Record<string, unknown>, body: string): boolean {
  const text = `${String(attributes['webhook-id'])}.${String(attributes['webhook-timestamp'])}.${body}`
  return attributes['webhook-signature'] === `v1,${createHmac('sha256', secret).update(text).digest('base64')}`
}

it.each([
  ['a standard topic', 'arn:aws:sns:eu-west-1:123456789012:events'],
  ['a FIFO topic', 'arn:aws-cn:sns:cn-north-1:123456789012:events.fifo'],
])('aws-sns publishes to %s, signed as Amazon signs, with signatures for subscribers', async (_what, arn) => {
  const sns = await open(startSns(credentials, arn))
  const { accessKeyId, secretAccessKey } = credentials
  const hook = { aws_topic_arn: arn, aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey }
  await addWebhook({ type: 'aws-sns', url: `${sns.url}/a:b%20c`, ...hook, headers: { authorization: 'mine' } })
  expect(await deliver('Zoë & "co" +1')).toMatchObject({ status: 'success', statusCode: 200 })
  const [form = {}] = sns.accepted
  expect(form).toMatchObject({ Action: 'Publish', Version: '2010-03-31', TopicArn: arn })
  const body = String(form['Message'])
  expect(JSON.parse(body)).toEqual(message('Zoë & "co" +1'))
  const attributes = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => `MessageAttributes.entry.${n + 1}`)
      .filter((entry) => `${entry}.Name` in form)
      .map((entry) => [String(form[`${entry}.Name`]), form[`${entry}.Value.StringValue`]]),
  )
  expect(attributes).toMatchObject({ topic: 'device-events' })
  expect(isSigned(attributes, body)).toBe(true)
  const isFifo = arn.endsWith('.fifo')
  expect(form['MessageDeduplicationId']).toBe(isFifo ? attributes['webhook-id'] : undefined)
  expect(form['MessageGroupId']).toBe(isFifo ? 'device-events' : undefined)
  await addWebhook({ type: 'aws-sns', url: `${sns.url}/`, ...hook, aws_secret_access_key: 'another' })
  expect(await deliver('refused')).toMatchObject({
    status: 'failure',
    error: 'answered 403: SignatureDoesNotMatch: The request signature does not match',
  })
})

it('google-pubsub publishes with a token of its service account, and says why it has none', async () => {
  const { publicKey, file } = serviceAccount('')
  const issuer = String(file['client_email'])
  const pubsub = await open(startPubsub(() => ({ publicKey, issuer, now: clock.now() })))
  const accountOf = (change: Record<string, string>) =>
    JSON.stringify({ ...file, token_uri: `${pubsub.url}/token`, ...change })
  const hook = { type: 'google-pubsub', url: `${pubsub.url}/v1/projects/p/topics/t:publish` }
  await addWebhook({ ...hook, google_service_account: accountOf({}) })
  expect(await deliver('first')).toMatchObject({ status: 'success' })
  clock.advance(3600e3)
  expect(await deliver('second')).toMatchObject({ status: 'success' })
  const texts = pubsub.accepted.map(({ messages }) => {
    const [{ data, attributes }] = messages as [{ data: string; attributes: Record<string, string> }]
    const body = Buffer.from(data, 'base64').toString('utf8')
    expect(attributes).toMatchObject({ topic: 'device-events' })
    expect(isSigned(attributes, body)).toBe(true)
    return JSON.parse(body)
  })
  expect(texts).toEqual([message('first'), message('second')])
  await addWebhook({ ...hook, url: `${hook.url.slice(0, -9)}u:publish`, google_service_account: accountOf({}) })
  expect(await deliver('third')).toMatchObject({
    error: 'answered 404: NOT_FOUND: Resource not found (resource=t).',
  })
  const stranger = String(serviceAccount('').file['private_key'])
  await addWebhook({ ...hook, google_service_account: accountOf({ private_key: stranger }) })
  expect(await deliver('fourth')).toMatchObject({
    statusCode: null,
    error: `no access token from ${pubsub.url}/token: answered 400: invalid_grant`,
  })
})

it('a webhook whose service account of an earlier release has a short key can be changed', () => {
  const accountOf = (bits: number) => JSON.stringify(serviceAccount('https://a.example/token', bits).file)
  const hook = { type: 'google-pubsub', url: 'https://a.example/v1/projects/p/topics/t:publish' }
  const google_service_account = accountOf(1024)
  const valid = mergeWebhook(null, { ...hook, google_service_account: accountOf(2048) }, null)
  const stored = { ...valid, secrets: { google_service_account } }
  for (const body of [{}, { google_service_account }])
    expect(mergeWebhook(stored, { enabled: false, ...body }, null)).toMatchObject({ enabled: false })
  for (const [before, body] of [
    [stored, { google_service_account: accountOf(1024) }],
    [{ ...stored, doc: { ...stored.doc, type: 'http-post' } }, hook],
    [null, { ...hook, google_service_account }],
  ] as const)
    expect(() => mergeWebhook(before, body, null)).toThrow('private_key must have 2048 to 4096 bits')
})

it('splunk gets each event in its envelope, or whole messages at its raw address', async () => {
  const splunk = await open(startSplunk('B5A79AAD'))
  const hook = { type: 'splunk', url: `${splunk.url}/services/collector/event` }
  await addWebhook({ ...hook, splunk_token: 'B5A79AAD' })
  const timestamp = clock.now().getTime() / 1000
  await deliver('first')
  const envelope = {
    time: timestamp,
    source: 'signalbox',
    sourcetype: 'signalbox:device-events',
    event: expect.objectContaining({ device_name: 'first', timestamp }),
    fields: { topic: 'device-events', webhook_id: expect.stringMatching(/^[\da-f-]{36}$/) },
  }
  expect(splunk.accepted).toEqual([{ events: [envelope] }])
  await addWebhook({ ...hook, url: `${splunk.url}/services/collector/raw`, splunk_token: 'B5A79AAD' })
  await deliver('second')
  expect(splunk.accepted[1]).toEqual(message('second'))
  await addWebhook({ ...hook, splunk_token: 'another' })
  expect(await deliver('third')).toMatchObject({ error: 'answered 403: Invalid token (code 4)' })
})

it('records of deliveries have no credentials, and the message as it was queued', async () => {
  const splunk = await open(startSplunk('B5A79AAD'))
  await addWebhook({ type: 'splunk', url: `${splunk.url}/services/collector`, splunk_token: 'B5A79AAD' })
  const { id } = await deliver('first')
  const body = harness.ctx.db.selectFrom('webhookBody').selectAll().where('deliveryId', '=', String(id))
  const { reqHeaders, reqPayload } = await body.executeTakeFirstOrThrow()
  expect(JSON.parse(reqHeaders)).toMatchObject({ Authorization: '***' })
  expect(JSON.parse(reqPayload ?? '')).toEqual(message('first'))
})
