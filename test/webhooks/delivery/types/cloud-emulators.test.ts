import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePorts } from '../../../../soak/support/free-ports.ts'
import { serviceAccount } from '../../../support/servers/service-account.ts'
import { temporaryDir } from '../../../support/temporary-dir.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { type Harness, createHarness } from '../../harness.ts'

/** The program `moto_server` of the Python package `moto[server]`. */
const moto = process.env['SIGNALBOX_TEST_MOTO_SERVER'] ?? ''
/** The jar of Google's emulator of Pub/Sub. */
const emulator = process.env['SIGNALBOX_TEST_PUBSUB_EMULATOR'] ?? ''

// Amazon's signatures are of the present time.
const clock = createTestClock(new Date())
let harness: Harness
beforeAll(async () => {
  harness = await createHarness(clock)
  await harness.start()
})
afterAll(() => harness.close())

const json = { 'content-type': 'application/json' }

/** Starts a program and waits until its server answers. */
async function startServer(command: string, args: readonly string[], url: string, env = {}): Promise<void> {
  const cwd = await temporaryDir()
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'ignore' })
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  })
  const isUp = (): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    )
  await waitUntil('the server', isUp, 60_000)
}

async function deliver(name: string): Promise<void> {
  await harness.deviceEvents([name])
  clock.advance(1000)
  harness.wake()
  const [record] = await waitUntil('the record', async () => {
    const found = await harness.deliveries()
    return found.length > 0 && found
  })
  expect(record).toMatchObject({ status: 'success', error: null })
  await harness.ctx.db.deleteFrom('webhook').execute()
  await harness.ctx.db.deleteFrom('webhookDelivery').execute()
}

describe.skipIf(moto === '')('SNS of moto, which SIGNALBOX_TEST_MOTO_SERVER names', () => {
  it('takes what aws-sns publishes, checks its signature, and passes it on', { timeout: 120_000 }, async () => {
    const [port = 0] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    // The calls that prepare the account need no signatures.
    await startServer(moto, ['-H', '127.0.0.1', '-p', String(port)], `${url}/moto-api/`, {
      INITIAL_NO_AUTH_ACTION_COUNT: '6',
    })
    const call = async (service: string, form: Record<string, string>): Promise<string> => {
      const scope = `Credential=AKIAX/20260101/eu-west-1/${service}/aws4_request`
      const authorization = `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=x`
      const answer = await fetch(url, { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) })
      return answer.text()
    }
    await call('iam', { Action: 'CreateUser', UserName: 'hooks', Version: '2010-05-08' })
    const policy = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'
    const allow = { Action: 'PutUserPolicy', UserName: 'hooks', PolicyName: 'all', PolicyDocument: policy }
    await call('iam', { ...allow, Version: '2010-05-08' })
    const key = await call('iam', { Action: 'CreateAccessKey', UserName: 'hooks', Version: '2010-05-08' })
    const between = (text: string, name: string) => new RegExp(`<${name}>(.*?)</${name}>`).exec(text)?.[1] ?? ''
    const topic = await call('sns', { Action: 'CreateTopic', Name: 'events', Version: '2010-03-31' })
    const arn = between(topic, 'TopicArn')
    const received: string[] = []
    const subscriber = createServer((request, response) => {
      let text = ''
      request.on('data', (part) => (text += String(part)))
      request.on('end', () => {
        received.push(text)
        response.end()
      })
    }).listen(0, '127.0.0.1')
    await once(subscriber, 'listening')
    onTestFinished(() => void subscriber.close())
    const { port: own } = subscriber.address() as AddressInfo
    const endpoint = { Protocol: 'http', Endpoint: `http://127.0.0.1:${own}/` }
    // Only messages with this attribute arrive.
    const filter = {
      'Attributes.entry.1.key': 'FilterPolicy',
      'Attributes.entry.1.value': '{"topic":["device-events"]}',
    }
    await call('sns', { Action: 'Subscribe', TopicArn: arn, ...endpoint, ...filter, Version: '2010-03-31' })
    // The last call without a signature.
    await call('sns', { Action: 'ListTopics', Version: '2010-03-31' })
    expect(await call('sns', { Action: 'ListTopics', Version: '2010-03-31' })).toMatch(/InvalidClientTokenId/)
    const hook = { type: 'aws-sns', url: `${url}/`, aws_topic_arn: arn, topics: ['device-events'] }
    const [id, secret] = [between(key, 'AccessKeyId'), between(key, 'SecretAccessKey')]
    await harness.addWebhook({ ...hook, aws_access_key_id: id, aws_secret_access_key: secret })
    await deliver('by moto')
    const text = await waitUntil('the notification', () => received.find((found) => found.includes('by moto')) ?? null)
    expect(JSON.parse(JSON.parse(text).Message)).toMatchObject({
      topic: 'device-events',
      events: [{ device_name: 'by moto' }],
    })
  })
})

describe.skipIf(emulator === '')('the emulator of Pub/Sub, which SIGNALBOX_TEST_PUBSUB_EMULATOR names', () => {
  it('takes what google-pubsub publishes, and passes it on', { timeout: 120_000 }, async () => {
    const [port = 0] = await freePorts(1)
    const url = `http://127.0.0.1:${port}/v1/projects/project`
    await startServer('java', ['-jar', emulator, '--host=127.0.0.1', `--port=${port}`], `${url}/topics`)
    const call = async (method: string, path: string, body: object): Promise<unknown> =>
      (await fetch(`${url}${path}`, { method, headers: json, body: JSON.stringify(body) })).json()
    await call('PUT', '/topics/events', {})
    await call('PUT', '/subscriptions/reader', { topic: 'projects/project/topics/events' })
    // The emulator has no accounts.
    const tokens = createServer((_request, response) => response.end('{"access_token": "a"}')).listen(0, '127.0.0.1')
    await once(tokens, 'listening')
    onTestFinished(() => void tokens.close())
    const { port: tokenPort } = tokens.address() as AddressInfo
    await harness.addWebhook({
      type: 'google-pubsub',
      url: `${url}/topics/events:publish`,
      google_service_account: JSON.stringify(serviceAccount(`http://127.0.0.1:${tokenPort}/`).file),
      topics: ['device-events'],
    })
    await deliver('by Pub/Sub')
    const pulled = await call('POST', '/subscriptions/reader:pull', { maxMessages: 1 })
    const [{ message }] = (pulled as { receivedMessages: [{ message: Record<string, unknown> }] }).receivedMessages
    const text = Buffer.from(String(message['data']), 'base64').toString('utf8')
    expect(JSON.parse(text)).toMatchObject({ topic: 'device-events', events: [{ device_name: 'by Pub/Sub' }] })
    expect(message['attributes']).toMatchObject({ topic: 'device-events', 'webhook-id': expect.any(String) })
  })
})
