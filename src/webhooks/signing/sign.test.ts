import { createHmac, createPublicKey, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { type HmacKeys, hmacKeysOf, signatureHeaders } from './sign.ts'
import { planSigningKeys, publicKeyOf, replaceSigningKey, signersOf } from './signing-keys.ts'

const at = new Date('2021-02-26T15:20:48.987Z')
const keysOf = (...secrets: readonly string[]): HmacKeys[] => secrets.map(hmacKeysOf)
const message = { messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, body: Buffer.from('{"test": 2432232314}') }

test('signs the body as the published interface does', () => {
  const headers = signatureHeaders(keysOf('secret'), {
    ...message,
    body: Buffer.from('{"topic":"audits","events":[]}'),
  })
  // printf '{"topic":"audits","events":[]}' | openssl dgst -sha256 -hmac secret, and -sha1
  expect(headers['X-Mist-Signature-v2']).toBe('fc25ea6ecbbcb5d1a4e94ae2b8bb80d044d211f07e6d75bee14ae952588eceec')
  expect(headers['X-Mist-Signature']).toBe('dbb1e390e2affdf8eadae43b600f880a2f9c10e1')
})

test('signs by Standard Webhooks with the decoded key', () => {
  // This is the example of the Standard Webhooks libraries.
  expect(
    signatureHeaders(keysOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'), { ...message, at: new Date(1614265330_987) }),
  ).toMatchObject({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test.each(['plain', 'sécret', 'whsec_', 'whsec_not base64!', 'whsec_abc'])('uses %j unchanged', (secret) => {
  const signed = `${message.messageId}.1614352848.{"test": 2432232314}`
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed).digest('base64')
  expect(signatureHeaders(keysOf(secret), message)['webhook-signature']).toBe(`v1,${expected}`)
})

test('sends only id and time without a secret', () => {
  expect(Object.keys(signatureHeaders([], message))).toEqual(['webhook-id', 'webhook-timestamp'])
})

test('signs with replaced secrets too, beside the headers that hold one signature', () => {
  const [all, ...each] = [['new', 'old', 'older'], ['new'], ['old'], ['older']].map((secrets) =>
    signatureHeaders(keysOf(...secrets), message),
  )
  const [now, ...former] = each
  expect(all).toEqual({
    ...now,
    'webhook-signature': each.map((headers) => headers['webhook-signature']).join(' '),
    'X-Mist-Signature-v2-Former': former.map((headers) => headers['X-Mist-Signature-v2']).join(','),
    'X-Mist-Signature-Former': former.map((headers) => headers['X-Mist-Signature']).join(','),
  })
})

const now = new Date('2026-11-20T12:00:00Z')
const doc = { ed25519_signatures: true }

test('signs by Ed25519 keys, during a replacement by both, as their public keys verify', () => {
  const keys = replaceSigningKey(planSigningKeys(doc, [], now), now, 60_000)
  const { 'webhook-signature': list = '', ...others } = signatureHeaders([], message, signersOf(doc, keys, now))
  expect(Object.keys(others)).toEqual(['webhook-id', 'webhook-timestamp'])
  const signed = Buffer.from(`${message.messageId}.1614352848.{"test": 2432232314}`)
  const valid = list.split(' ').map((signature, index) => {
    const [key] = keys.slice(index)
    if (key === undefined || !signature.startsWith('v1a,')) return false
    const { public_key: text, kid: _kid, until: _until, ...jwk } = publicKeyOf(key)
    expect(Buffer.from(text.slice(5), 'base64').toString('base64url')).toBe(jwk.x)
    const bytes = Buffer.from(signature.slice(4), 'base64')
    return verify(null, signed, createPublicKey({ key: { ...jwk }, format: 'jwk' }), bytes)
  })
  expect(valid).toEqual([true, true])
  expect(signatureHeaders(keysOf('secret'), message, signersOf(doc, keys, now))['webhook-signature']).toMatch(
    /^v1,\S+ v1a,\S+ v1a,\S+$/,
  )
})

test('keeps the key of a webhook, and a replaced one until its end', () => {
  expect(planSigningKeys({}, [], now)).toEqual([])
  const first = planSigningKeys(doc, [], now)
  expect(planSigningKeys({}, first, now)).toEqual(first)
  expect(signersOf({}, first, now)).toEqual([])
  const both = replaceSigningKey(first, now, 60_000)
  expect(both.map(({ untilMs }) => untilMs)).toEqual([null, now.getTime() + 60_000])
  expect(both[1]?.seed).toBe(first[0]?.seed)
  expect(planSigningKeys(doc, both, new Date(now.getTime() + 60_000))).toEqual([both[0]])
  expect(replaceSigningKey(first, now, 0)).toHaveLength(1)
  let many = both
  for (let count = 0; count < 2; count += 1) many = replaceSigningKey(many, now, 60_000)
  expect(() => replaceSigningKey(many, now, 60_000)).toThrow('Invalid field secret_overlap_s')
  expect(() => replaceSigningKey([], now, 0)).toThrow('Invalid field ed25519_signatures')
})
