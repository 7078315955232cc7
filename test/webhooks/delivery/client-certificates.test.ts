import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { mergeWebhook } from '../../../src/webhooks/webhook.ts'
import { presentWebhook } from '../../../src/webhooks/wire.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness } from '../harness.ts'
import { selfSigned, withoutEnd } from '../self-signed.ts'

const clock = createTestClock()
let harness: Harness
let known: { readonly key: string; readonly cert: string }
let stranger: typeof known
/** The common names of the clients whose requests arrived. */
const clients: string[] = []
let url: string
let stop: () => Promise<void>

beforeAll(async () => {
  harness = await createHarness(clock)
  await harness.start()
  const server = await selfSigned('127.0.0.1')
  known = await selfSigned('10.0.0.1')
  stranger = await selfSigned('10.0.0.2')
  const receiver = createServer({ ...server, requestCert: true, ca: [known.cert] }, (request, response) => {
    clients.push(String((request.socket as TLSSocket).getPeerCertificate().subject.CN))
    request.resume()
    response.end()
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  url = `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  stop = async () => {
    receiver.close()
    receiver.closeAllConnections()
    await once(receiver, 'close')
  }
})
afterAll(async () => {
  await harness.close()
  await stop()
})

/** Delivers an event. @returns Its attempts so far. */
async function attemptsOf(name: string) {
  const before = (await harness.deliveries()).length
  await harness.deviceEvents([name])
  clock.advance(1000)
  harness.wake()
  return waitUntil('an attempt', async () => {
    const found = (await harness.deliveries()).slice(before)
    return found.length > 0 && found
  })
}

it('a receiver that asks for a certificate gets that of the webhook, and nothing from others', async () => {
  const topics = ['device-events']
  const { scope, outbound } = harness
  const both = { client_cert: known.cert, client_key: known.key }
  const webhook = await harness.addWebhook({ url, topics, verify_cert: false, ...both })
  const shown = presentWebhook(webhook, 'all')
  expect(shown).toMatchObject({ client_cert: known.cert, client_cert_expires_time: expect.any(Number) })
  expect(JSON.stringify(shown)).not.toContain('PRIVATE KEY')
  expect((await attemptsOf('first'))[0]).toMatchObject({ status: 'success' })
  const change = (body: Record<string, unknown>) =>
    updateWebhook(harness.ctx, scope, { id: webhook.id, outbound, body })
  await change({ client_cert: stranger.cert, client_key: stranger.key })
  const [refused] = await attemptsOf('second')
  expect(refused).toMatchObject({ status: 'failure', statusCode: null, error: expect.any(String) })
  expect(clients).toEqual(['10.0.0.1'])
  await change(both)
  clock.advance(60_000)
  harness.wake()
  await waitUntil('the delivery after the mend', async () => (await harness.deliveries()).length === 3)
  await change({ '-client_cert': '', '-client_key': '' })
  expect((await attemptsOf('third'))[0]).toMatchObject({ status: 'failure' })
  expect(clients).toEqual(['10.0.0.1', '10.0.0.1'])
})

const fieldsOf = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
  client_cert: cert,
  client_key: key,
})

const rsaPair = async (bits: number) => fieldsOf(await selfSigned('10.0.0.3', { rsaBits: bits }))

const endless = () => fieldsOf({ ...known, cert: withoutEnd(known.cert) })

it.each([
  ['a certificate alone', () => ({ client_cert: known.cert }), 'client_key: is required with client_cert'],
  ['a key alone', () => ({ client_key: known.key }), 'client_cert: is required with client_key'],
  [
    'no certificate',
    () => ({ ...known, client_cert: 'x', client_key: known.key }),
    'client_cert: must be a certificate',
  ],
  ['no key', () => ({ client_cert: known.cert, client_key: known.cert }), 'client_key: must be a private key'],
  ['the key of another', () => ({ client_cert: known.cert, client_key: stranger.key }), 'client_key: is not the key'],
  [
    'an address without TLS',
    () => ({ client_cert: known.cert, client_key: known.key, url: 'http://127.0.0.1:9/' }),
    'client_cert: needs a url',
  ],
  ['a certificate without an end', endless, 'client_cert: has no valid end'],
  [
    'hundreds of certificates',
    () => fieldsOf({ ...known, cert: known.cert.concat('\n').repeat(100) }),
    'client_cert: must have at most 32768 characters',
  ],
  ['a key that TLS takes for too weak', () => rsaPair(1024), 'client_cert: is refused by TLS: ee key too small'],
  ['a key that takes long to sign', () => rsaPair(4608), 'client_key: must have at most 4096 bits'],
])('a webhook with %s is refused', async (_what, body, why) => {
  await expect(harness.addWebhook({ url, topics: [], ...(await body()) })).rejects.toThrow(`Invalid field ${why}`)
})

it('a webhook with such a certificate from an earlier release can be shown and changed', async () => {
  const webhook = await harness.addWebhook({ url, topics: [], ...fieldsOf(known) })
  const stored = { ...webhook, doc: { ...webhook.doc, client_cert: endless().client_cert } }
  expect(presentWebhook(stored, 'all')).not.toHaveProperty('client_cert_expires_time')
  expect(mergeWebhook(stored, { enabled: false }, null)).toMatchObject({ enabled: false })
  const { client_cert } = stored.doc
  expect(mergeWebhook(stored, { enabled: false, client_cert }, null)).toMatchObject({ enabled: false })
  expect(() => mergeWebhook(stored, { client_key: `${known.key}\n` }, null)).toThrow('client_cert: has no valid end')
})
