import { ClientError } from 'openid-client'
import { describe, expect, it } from 'vitest'
import { unavailable } from './fetch-bounded.ts'
import { explainProviderError, reasonsOf, refusal } from './refusal.ts'

const wrapped = (cause: unknown) => new ClientError('something went wrong', { cause })

describe('explainProviderError', () => {
  it("finds our own error among the causes of the library's error", () => {
    const down = unavailable('it answered 502')
    expect(explainProviderError(wrapped(down))).toBe(down)
    const refused = refusal('invalid_token', 'no')
    expect(explainProviderError(refused)).toBe(refused)
  })

  it('reports every error of the library as a wrong answer', () => {
    for (const error of [wrapped(new Error('odd')), new TypeError('odd'), new DOMException('odd', 'DataError')])
      expect(explainProviderError(error)).toMatchObject({ code: 'invalid', fields: { error: 'invalid_token' } })
  })

  it('rethrows defects of our own', () => {
    const defect = new RangeError('ours')
    expect(() => explainProviderError(defect)).toThrow(defect)
  })
})

describe('reasonsOf', () => {
  it('lists every message, and nothing that is attached', () => {
    const error = unavailable(wrapped(new Error('inner', { cause: { access_token: 'secret' } })))
    const text = reasonsOf(error)
    expect(text).toMatch(/can't be reached.*something went wrong.*inner/)
    expect(text).not.toContain('secret')
  })

  it('lists thrown values that are not errors', () => {
    expect(reasonsOf(unavailable('it answered 502'))).toMatch(/it answered 502$/)
    expect(reasonsOf(undefined)).toBe('')
  })
})
