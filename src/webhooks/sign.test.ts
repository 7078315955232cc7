import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { signatureHeaders } from './sign.ts'

const at = new Date('2021-02-26T15:20:48.987Z')
const message = { messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, body: Buffer.from('{"test": 2432232314}') }

test('signs the body as the published interface does', () => {
  const headers = signatureHeaders(['secret'], { ...message, body: Buffer.from('{"topic":"audits","events":[]}') })
  // printf '{"topic":"audits","events":[]}' | openssl dgst -sha256 -hmac secret, and -sha1
  expect(headers['X-Mist-Signature-v2']).toBe('fc25ea6ecbbcb5d1a4e94ae2b8bb80d044d211f07e6d75bee14ae952588eceec')
  expect(headers['X-Mist-Signature']).toBe('dbb1e390e2affdf8eadae43b600f880a2f9c10e1')
})

test('signs by Standard Webhooks with the decoded key', () => {
  // This is the example of the Standard Webhooks libraries.
  expect(
    signatureHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], { ...message, at: new Date(1614265330_987) }),
  ).toMatchObject({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test.each(['plain', 'sécret', 'whsec_', 'whsec_not base64!', 'whsec_abc'])('uses %j unchanged', (secret) => {
  const signed = `${message.messageId}.1614352848.{"test": 2432232314}`
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed).digest('base64')
  expect(signatureHeaders([secret], message)['webhook-signature']).toBe(`v1,${expected}`)
})

test('sends only id and time without a secret', () => {
  expect(Object.keys(signatureHeaders([], message))).toEqual(['webhook-id', 'webhook-timestamp'])
})

test('signs with replaced secrets too, beside the headers that hold one signature', () => {
  const [all, ...each] = [['new', 'old', 'older'], ['new'], ['old'], ['older']].map((secrets) =>
    signatureHeaders(secrets, message),
  )
  const [now, ...former] = each
  expect(all).toEqual({
    ...now,
    'webhook-signature': each.map((headers) => headers['webhook-signature']).join(' '),
    'X-Mist-Signature-v2-Former': former.map((headers) => headers['X-Mist-Signature-v2']).join(','),
    'X-Mist-Signature-Former': former.map((headers) => headers['X-Mist-Signature']).join(','),
  })
})
