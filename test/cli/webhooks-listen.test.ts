import { spawn } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type HeardMessage, listenForWebhooks, parsePublicKey } from '../../src/client/listen.ts'
import { hmacKeysOf, signatureHeaders } from '../../src/webhooks/signing/sign.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type Harness, createHarness } from '../webhooks/harness.ts'

const clock = createTestClock()
let harness: Harness
beforeAll(async () => {
  harness = await createHarness(clock)
})
afterAll(() => harness.close())

it('verifies messages of the service, fails as often as requested, and receives the retries', async () => {
  const heard: HeardMessage[] = []
  const listener = await listenForWebhooks({
    host: '127.0.0.1',
    port: 0,
    secret: 'the secret',
    publicKey: null,
    fault: { reply: 'answer', status: 503, times: 1, delayMs: 0 },
    now: () => clock.now(),
    onMessage: (message) => heard.push(message),
  })
  onTestFinished(() => listener.close())
  const wrong = { secret: 'another', url: listener.url, topics: ['audits'] }
  const { id } = await harness.addWebhook({ ...wrong, secret: 'the secret' })
  await harness.start()
  await harness.audit('first')
  await waitUntil('the failure', async () => (await harness.deliveries()).length === 1)
  clock.advance(60_000)
  harness.wake()
  await waitUntil('the repetition', () => heard.length === 2)
  const message = { topic: 'audits', events: [expect.objectContaining({ message: 'first' })] }
  const common = { id: expect.any(String), fault: null, message }
  expect(heard).toEqual([
    { ...common, at: expect.any(String), status: 503, repeated: false },
    { ...common, at: clock.now().toISOString(), status: 200, repeated: true },
  ])
  await harness.ctx.db.deleteFrom('webhook').where('id', '=', id).execute()
  await harness.addWebhook(wrong)
  await harness.audit('second')
  await waitUntil('the message with another secret', () => heard.length === 3)
  expect(heard[2]).toMatchObject({ fault: 'its signature is wrong', repeated: false })
})

it.each(['reset', 'hang'] as const)('can %s, and verifies signatures by the key of the webhook', async (reply) => {
  const heard: HeardMessage[] = []
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const listener = await listenForWebhooks({
    host: '127.0.0.1',
    port: 0,
    secret: null,
    publicKey: parsePublicKey(`whpk_${Buffer.from(x, 'base64url').toString('base64')}`) ?? null,
    fault: { reply, status: 200, times: 1, delayMs: 0 },
    now: () => clock.now(),
    onMessage: (message) => heard.push(message),
  })
  onTestFinished(() => listener.close())
  const timestamp = String(Math.floor(clock.now().getTime() / 1000))
  const signature = sign(null, Buffer.from(`one.${timestamp}.body`), privateKey).toString('base64')
  const post = (body: string, signal?: AbortSignal) =>
    fetch(listener.url, {
      method: 'POST',
      body,
      headers: { 'webhook-id': 'one', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,AA== v1a,${signature}` },
      ...(signal && { signal }),
    })
  const leaving = new AbortController()
  const refused = expect(post('body', leaving.signal)).rejects.toThrow()
  await waitUntil('the message', () => heard.length === 1)
  if (reply === 'hang') leaving.abort()
  await refused
  expect((await post('another body')).status).toBe(200)
  expect(heard).toMatchObject([
    { status: null, fault: null, repeated: false },
    { status: 200, fault: 'its signature by the key is wrong', repeated: true },
  ])
})

it.each(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_not base64!', 'whsec_abc'])(
  'takes the same key from the secret %j as the service',
  async (secret) => {
    const heard: HeardMessage[] = []
    const listener = await listenForWebhooks({
      ...{ host: '127.0.0.1', port: 0, secret, publicKey: null },
      fault: { reply: 'answer', status: 200, times: Infinity, delayMs: 0 },
      now: () => clock.now(),
      onMessage: (message) => heard.push(message),
    })
    onTestFinished(() => listener.close())
    const signable = { messageId: 'one', at: clock.now(), body: Buffer.from('body') }
    const headers = signatureHeaders([hmacKeysOf(secret)], signable)
    expect((await fetch(listener.url, { method: 'POST', body: 'body', headers })).status).toBe(200)
    expect(heard).toMatchObject([{ id: 'one', fault: null }])
  },
)

/** Starts the command; `next` resolves with its next line. */
async function startCommand(...options: readonly string[]) {
  const child = spawn(process.execPath, [await builtProgram('cli'), 'webhooks', 'listen', '--port', '0', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value ?? '{}')
  return { child, next, url: String((await next())['listening']) }
}

it('is a command that says where it listens, prints a line for each message, and ends on Ctrl-C', async () => {
  const { child, next, url } = await startCommand()
  const answer = await fetch(url, { method: 'POST', body: 'no JSON' })
  expect(answer.status).toBe(200)
  expect(await next()).toMatchObject({ id: null, fault: null, message: 'no JSON' })
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  expect(await exited).toEqual([0, null])
})

it('answers as late and with the status that its options name', async () => {
  const { next, url } = await startCommand('--status', '503', '--times', '1', '--delay', '40')
  for (const status of [503, 200]) {
    const startedMs = performance.now()
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(status)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(39)
    expect(await next()).toMatchObject({ status })
  }
})

it('ends on Ctrl-C while an answer is delayed', async () => {
  const { child, url } = await startCommand('--delay', '600000')
  const refused = expect(fetch(url, { method: 'POST', body: '{}' })).rejects.toThrow()
  // The receiver has read that message once it has read a later request.
  const later = request(url, { method: 'POST', headers: { Expect: '100-continue' } }).on('error', () => {})
  later.flushHeaders()
  await once(later, 'continue')
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  expect(await exited).toEqual([0, null])
  await refused
})
