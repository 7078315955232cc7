import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainClaimCode } from './claim-code.ts'
import { newClaimCode } from '../device.ts'

describe('plainClaimCode', () => {
  it.each([
    ['ABCDE-FGHJK-MNPQR', 'ABCDEFGHJKMNPQR'],
    [' abcdefghjkmnpqr ', 'ABCDEFGHJKMNPQR'],
    ['A-', 'A'],
    ['', null],
    ['---', null],
    ['AB CD', null],
    ['ÄB', null],
    ["A'B", null],
    ['x'.repeat(100), null],
  ])('normalizes %j to %j', (text, plain) => {
    expect(plainClaimCode(text)).toBe(plain)
  })

  it('recognizes a code in every spelling', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 15, maxLength: 15 }), fc.boolean(), (dashAfter, lower) => {
        const plain = newClaimCode()
        const spelled = Array.from(plain, (letter, index) => (dashAfter[index] === true ? `${letter}-` : letter)).join(
          '',
        )
        expect(plainClaimCode(lower ? spelled.toLowerCase() : spelled)).toBe(plain)
      }),
    )
  })
})
