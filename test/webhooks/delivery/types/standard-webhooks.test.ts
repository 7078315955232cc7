import { Webhook } from 'standardwebhooks'
import { beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../../src/platform/time/clock.ts'
import { updateWebhook } from '../../../../src/webhooks/update-webhook.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { startEngine } from '../../engine.ts'
import type { Harness } from '../../harness.ts'
import { type Received, type Receiver, allValid, signaturesOf } from '../../receiver.ts'

let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  // The library refuses the times of another clock.
  ;({ harness, receiver } = await startEngine(systemClock))
})

const plain = 'a long random text, ä'
const encoded = `whsec_${Buffer.from('\0\x01binary key, at least 24 bytes').toString('base64')}`

const verifierOf = (secret: string): Webhook =>
  secret.startsWith('whsec_') ? new Webhook(secret) : new Webhook(Buffer.from(secret), { format: 'raw' })

/** Verifies a message by the library. It throws when no signature is valid. */
function verify({ raw, headers }: Received, secret: string): unknown {
  return verifierOf(secret).verify(raw, headers as Record<string, string>)
}

it.each([
  ['a text', plain, {}],
  ['an encoded key', encoded, {}],
  ['a text beside a public key', plain, { ed25519_signatures: true }],
])('the library of Standard Webhooks verifies messages by %s, and refuses any other', async (_what, secret, more) => {
  await harness.addWebhook({ url: receiver.url, topics: ['audits'], secret, ...more })
  await harness.start()
  await harness.audit('Zoë signs')
  const [message] = await receiver.waitFor(1)
  if (message === undefined) throw new Error('no message')
  expect(verify(message, secret)).toEqual(JSON.parse(message.raw.toString()))
  const { headers, raw } = message
  const changed = { ...message, raw: Buffer.from(raw.toString().replace('signs', 'forges')) }
  const renamed = { ...message, headers: { ...headers, 'webhook-id': 'msg_1' } }
  const late = { ...message, headers: { ...headers, 'webhook-timestamp': String(Date.now() / 1000 - 600) } }
  for (const forged of [changed, renamed]) expect(() => verify(forged, secret)).toThrow('No matching signature')
  expect(() => verify(late, secret)).toThrow('too old')
  expect(() => verify(message, `${plain}.`)).toThrow('No matching signature')
})

it('a secret that is being replaced and the new one both verify, by the library and by plain HMAC', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], secret: plain })
  await harness.start()
  await harness.audit('before')
  const [before] = await receiver.waitFor(1)
  if (before === undefined) throw new Error('no message')
  expect(signaturesOf(before, plain)).toEqual(allValid)
  await updateWebhook(harness.ctx, harness.scope, { id, body: { secret: encoded }, outbound: harness.outbound })
  await harness.audit('during')
  const isDuring = ({ events }: Received) => events.some(({ message }) => message === 'during')
  const during = await waitUntil('the message', () => receiver.received.find(isDuring) ?? null)
  for (const secret of [plain, encoded]) expect(verify(during, secret)).toEqual(JSON.parse(during.raw.toString()))
  expect(() => verify(before, encoded)).toThrow('No matching signature')
})
