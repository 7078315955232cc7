import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { updateWebhook } from '../../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../../support/test-clock.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { startEngine } from '../../engine.ts'
import type { Harness } from '../../harness.ts'
import { type Receiver, status } from '../../receiver.ts'
import { type TokenServer, startTokenServer } from './token-server.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
let tokens: TokenServer
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
  tokens = await startTokenServer()
})

const grant = () => ({
  type: 'oauth2',
  url: receiver.url,
  topics: ['audits'],
  oauth2_token_url: tokens.url,
  oauth2_client_id: 'client:1',
  oauth2_client_secret: 'sécret',
})

const authorizations = () => receiver.received.map(({ headers }) => headers.authorization)

async function deliver(message: string): Promise<void> {
  const before = receiver.received.length
  await harness.audit(message)
  await receiver.waitFor(before + 1)
}

describe('a webhook of type oauth2', () => {
  it('gets a token with the credentials of the client and sends it, until it expires', async () => {
    await harness.addWebhook({ ...grant(), oauth2_scopes: ['read', 'write'], headers: { authorization: 'mine' } })
    await harness.start()
    await deliver('first')
    await deliver('second')
    expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-1'])
    const basic = `Basic ${Buffer.from('client%3A1:s%C3%A9cret').toString('base64')}`
    expect(tokens.requests).toEqual([
      { path: '/token', authorization: basic, form: { grant_type: 'client_credentials', scope: 'read write' } },
    ])
    clock.advance(3600e3)
    await deliver('third')
    expect(authorizations().at(-1)).toBe('Bearer token-2')
  })

  it('sends the name and the password of a person for the grant type password', async () => {
    const person = { oauth2_grant_type: 'password', oauth2_username: 'ada', oauth2_password: 'pass word' }
    await harness.addWebhook({ ...grant(), ...person })
    await harness.start()
    await deliver('first')
    expect(tokens.requests[0]?.form).toEqual({ grant_type: 'password', username: 'ada', password: 'pass word' })
  })

  it('names no client with a password where the webhook has none', async () => {
    const person = { oauth2_grant_type: 'password', oauth2_username: 'ada', oauth2_password: 'pass word' }
    const { oauth2_client_id: _id, oauth2_client_secret: _secret, ...others } = grant()
    await harness.addWebhook({ ...others, ...person })
    await harness.start()
    await deliver('first')
    expect(tokens.requests[0]).toMatchObject({ authorization: undefined, form: { username: 'ada' } })
    expect(authorizations()).toEqual(['Bearer token-1'])
  })

  it('names a client without a secret in the form', async () => {
    const person = { oauth2_grant_type: 'password', oauth2_username: 'ada', oauth2_password: 'pass word' }
    await harness.addWebhook({ ...grant(), ...person, oauth2_client_secret: '' })
    await harness.start()
    await deliver('first')
    expect(tokens.requests[0]).toMatchObject({ authorization: undefined, form: { client_id: 'client:1' } })
  })

  it('gets another token when the receiver refuses it, or the credentials change', async () => {
    const { id } = await harness.addWebhook({ ...grant(), single_event_per_message: true })
    await harness.start()
    receiver.answer(status(401))
    await deliver('first')
    await waitUntil('the failure', async () => (await harness.deliveries()).length === 1)
    // The token was new, so another one at once would be refused as well.
    expect(authorizations()).toEqual(['Bearer token-1'])
    receiver.answer(status(200))
    clock.advance(60e3)
    harness.wake()
    await receiver.waitFor(2)
    const { scope, outbound } = harness
    await updateWebhook(harness.ctx, scope, { id, outbound, body: { oauth2_client_secret: 'another' } })
    // The change of the webhook is an audit event itself, so it is delivered, too.
    await harness.audit('second')
    await receiver.waitFor(4)
    expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-2', 'Bearer token-3', 'Bearer token-3'])
  })

  it('sends a message at once with a new token when the receiver no longer takes the one from before', async () => {
    await harness.addWebhook(grant())
    await harness.start()
    await deliver('first')
    receiver.answer((request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer token-1' ? 401 : 200).end()
    })
    await harness.audit('second')
    await receiver.waitFor(3)
    await waitUntil('both records', async () => (await harness.deliveries()).length === 2)
    expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
    expect((await harness.deliveries()).map(({ attempt, statusCode }) => [attempt, statusCode])).toEqual([
      [1, 200],
      [1, 200],
    ])
  })

  it('says that it got no new token after the receiver has refused the one from before', async () => {
    await harness.addWebhook(grant())
    await harness.start()
    await deliver('first')
    tokens.answer = [400, '{"error": "invalid_client"}']
    receiver.answer(status(401))
    await harness.audit('second')
    const records = await waitUntil('both records', async () => {
      const found = await harness.deliveries()
      return found.length === 2 && found
    })
    const error = `no access token from ${tokens.url}: answered 400: invalid_client (the receiver had answered 401)`
    expect(records[1]).toMatchObject({ status: 'failure', statusCode: null, error })
  })

  it('gets one token for all messages in flight when the receiver no longer takes the one from before', async () => {
    await harness.addWebhook({ ...grant(), single_event_per_message: true })
    for (const message of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await harness.audit(message)
    const held: ServerResponse[] = []
    // Each of the first successes allows one more message in flight.
    receiver.answer((_request, response) => {
      if (receiver.received.length > 4) held.push(response)
      else response.writeHead(200).end()
    })
    await harness.start()
    await waitUntil('three messages in flight', () => held.length === 3)
    receiver.answer(status(200))
    for (const response of held) response.writeHead(401).end()
    await receiver.waitFor(10)
    expect(authorizations().slice(-3)).toEqual(['Bearer token-2', 'Bearer token-2', 'Bearer token-2'])
    expect(tokens.requests).toHaveLength(2)
  })

  it('sends a token with thousands of characters, as those with many claims have', async () => {
    const token = 'a'.repeat(8000)
    tokens.answer = [200, JSON.stringify({ access_token: token })]
    await harness.addWebhook(grant())
    await harness.start()
    await harness.audit('first')
    await receiver.waitFor(1)
    expect(authorizations()).toEqual([`Bearer ${token}`])
  })

  it.each([
    ['a refusal', [401, '{"error": "invalid_client", "secret": "s3cret"}'], 'answered 401: invalid_client'],
    ['an answer without a token', [200, '{"token_type": "Bearer"}'], 'the answer has no access_token'],
    ['an answer that is not JSON', [200, '<html>'], 'the answer has no access_token'],
    [
      'a token with a line end',
      [200, '{"access_token": "a\\r\\nX: b"}'],
      'the access_token contains characters that headers may not have',
    ],
    [
      'a token that is too long',
      [200, JSON.stringify({ access_token: 'a'.repeat(8001) })],
      'the access_token is longer than 8000 characters',
    ],
  ] as const)('sends nothing after %s, says why, and tries again', async (_what, answer, why) => {
    await harness.addWebhook(grant())
    const works = tokens.answer
    tokens.answer = answer
    await harness.start()
    await harness.audit('first')
    const [failure] = await waitUntil('the failure', async () => {
      const found = await harness.deliveries()
      return found.length > 0 && found
    })
    expect(failure).toMatchObject({ status: 'failure', statusCode: null, attempt: 1 })
    expect(failure?.error).toBe(`no access token from ${tokens.url}: ${why}`)
    expect(receiver.received).toEqual([])
    tokens.answer = works
    clock.advance(60e3)
    harness.wake()
    await receiver.waitFor(1)
  })

  it('sends the query of the address of tokens, and does not show it in the error of a delivery', async () => {
    await harness.addWebhook({ ...grant(), oauth2_token_url: `${tokens.url}?key=hunter2` })
    tokens.answer = [500, '']
    await harness.start()
    await harness.audit('first')
    const error = await waitUntil('the failure', async () => (await harness.deliveries())[0]?.error ?? null)
    expect(error).toBe(`no access token from ${tokens.url}: answered 500`)
    expect(tokens.requests[0]?.path).toBe('/token?key=hunter2')
  })

  it('leaves a receiver at least half of the time limit, whatever the server of tokens does', async () => {
    await harness.addWebhook(grant())
    tokens.isHolding = true
    await harness.start({ timeoutMs: 1000 })
    await harness.audit('first')
    const error = await waitUntil('the failure', async () => (await harness.deliveries())[0]?.error ?? null)
    expect(error).toBe(`no access token from ${tokens.url}: no answer within 500 ms`)
  })

  it('counts the request for a token as a part of the attempt', async () => {
    await harness.addWebhook(grant())
    receiver.answer(() => {})
    await harness.start({ timeoutMs: 4000 })
    await harness.audit('first')
    const error = await waitUntil('the failure', async () => (await harness.deliveries())[0]?.error ?? null)
    const leftMs = Number(/^no answer within (\d+) ms$/.exec(error)?.[1])
    expect(leftMs).toBeGreaterThanOrEqual(2000)
    expect(leftMs).toBeLessThan(4000)
  })

  it('does not start the time anew when the receiver refuses the token from before', async () => {
    await harness.addWebhook(grant())
    await harness.start({ timeoutMs: 5000 })
    await deliver('first')
    tokens.isHolding = true
    receiver.answer(status(401))
    await harness.audit('second')
    await waitUntil('both records', async () => (await harness.deliveries()).length === 2)
    const records = harness.ctx.db.selectFrom('webhookDelivery').select(['durationMs', 'error'])
    const { durationMs, error } = await records.where('status', '=', 'failure').executeTakeFirstOrThrow()
    expect(durationMs).toBeLessThan(5000)
    expect(error).toMatch(/: no answer within \d+ ms \(the receiver had answered 401\)$/)
  })

  it('keeps neither the credentials nor the token in the record of deliveries', async () => {
    await harness.addWebhook(grant())
    await harness.start()
    await deliver('first')
    const exchange = await waitUntil('the record', async () => {
      const [found] = await harness.ctx.db.selectFrom('webhookBody').selectAll().execute()
      return found ?? null
    })
    expect(JSON.stringify(exchange)).not.toMatch(/token-1|s.cret|client:1/)
  })
})
