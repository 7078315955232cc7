import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../platform/secrets.ts'
import { bindingOfCaller, bindingOfCookie, bindingOfSession } from './binding.ts'
import { type Callback, decideCallback } from './decide-callback.ts'
import type { Flow, FlowSecrets } from './flow.ts'

const now = new Date('2026-01-01T00:00:00Z')
const later = new Date(now.getTime() + 1)
const mine = bindingOfCookie('mine')
const issuer = 'https://acme.test'
const flow: Flow & FlowSecrets = {
  provider: 'acme',
  purpose: 'login',
  bound: mine,
  forward: null,
  expiresAt: later,
  nonce: 'nonce',
  verifier: 'verifier',
  script: false,
}
const callback: Callback = {
  query: { state: 'state', code: 'code', iss: issuer },
  provider: 'acme',
  client: { issuer, sendsIss: true },
  proven: [bindingOfSession(sha256('session')), mine],
  now,
}

describe('decideCallback', () => {
  it('keeps what the exchange of the code needs', () => {
    expect(decideCallback(flow, callback)).toEqual({
      kind: 'answer',
      secrets: {
        kind: 'granted',
        code: 'code',
        state: 'state',
        iss: issuer,
        nonce: 'nonce',
        verifier: 'verifier',
        script: false,
      },
    })
  })

  it('accepts an answer without an issuer only if the provider promises none', () => {
    const query = { state: 'state', code: 'code' }
    expect(decideCallback(flow, { ...callback, query }).kind).toBe('refuse')
    const silent = { ...callback, query, client: { issuer, sendsIss: false } }
    expect(decideCallback(flow, silent)).toMatchObject({ kind: 'answer', secrets: { code: 'code' } })
    expect(decideCallback(flow, { ...silent, query: { ...query, iss: 'https://evil.test' } }).kind).toBe('refuse')
  })

  it('keeps a denial, with a default description', () => {
    const query = { state: 'state', iss: issuer, error: 'access_denied' }
    const denied = { kind: 'denied', error: 'access_denied', description: 'The provider refused', script: false }
    expect(decideCallback(flow, { ...callback, query })).toEqual({ kind: 'answer', secrets: denied })
    const told = { ...query, code: 'code', error_description: 'No.' }
    expect(decideCallback(flow, { ...callback, query: told })).toMatchObject({ secrets: { description: 'No.' } })
  })

  it('does not require the browser of a flow that a script began', () => {
    expect(decideCallback({ ...flow, script: true }, { ...callback, proven: [] }).kind).toBe('answer')
  })

  it('refuses an answer with any single fault', () => {
    const wrong = fc.constantFrom<[Partial<Flow> | undefined, Partial<Callback>]>(
      [undefined, {}],
      [{ expiresAt: now }, {}],
      [{ provider: 'other' }, {}],
      [{ bound: bindingOfCookie('theirs') }, {}],
      [{}, { provider: 'other' }],
      [{}, { proven: [] }],
      [{}, { now: later }],
      [{}, { client: { issuer: 'https://other.test', sendsIss: true } }],
      [{}, { query: { code: 'code', iss: issuer } }],
      [{}, { query: { state: 'state', iss: issuer } }],
      [{}, { query: { state: 'state', iss: issuer.toUpperCase(), code: 'code' } }],
    )
    fc.assert(
      fc.property(wrong, ([ofFlow, ofCallback]) => {
        const decision = decideCallback(ofFlow && { ...flow, ...ofFlow }, { ...callback, ...ofCallback })
        expect(decision).toEqual({ kind: 'refuse', why: expect.any(String) })
      }),
    )
  })
})

describe('bindings', () => {
  const nobody = { sessionHash: null, tokenId: null, adminId: null }
  it('differ for different credentials with the same text', () => {
    const text = 'b7c1'
    const hash = Buffer.from(text, 'hex')
    const all = [
      bindingOfCookie(text),
      bindingOfSession(hash),
      bindingOfCaller({ ...nobody, tokenId: text }),
      bindingOfCaller({ ...nobody, adminId: text }),
    ].map((binding) => binding.toString('hex'))
    expect(new Set(all).size).toBe(4)
  })

  it('of a caller with a session equals that of the session', () => {
    const sessionHash = sha256('session')
    expect(bindingOfCaller({ ...nobody, sessionHash, adminId: 'a' })).toEqual(bindingOfSession(sessionHash))
  })
})
