import { describe, expect, it } from 'vitest'
import { generateRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'

describe('recovery codes', () => {
  it('are ten different codes of letters that nobody confuses', () => {
    const codes = generateRecoveryCodes()
    expect(codes).toHaveLength(10)
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) expect(code).toMatch(/^[a-hjkmnp-z2-9]{4}(-[a-hjkmnp-z2-9]{4}){3}$/)
  })

  it('use every letter about equally often', () => {
    const counts = new Map<string, number>()
    for (let i = 0; i < 500; i += 1)
      for (const letter of generateRecoveryCodes().join('').replaceAll('-', ''))
        counts.set(letter, (counts.get(letter) ?? 0) + 1)
    const mean = (500 * 160) / counts.size
    expect(counts.size).toBe(31)
    // Ten standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - mean)).toBeLessThan(10 * Math.sqrt(mean))
  })

  it('can be typed in any case, with or without dashes and spaces', () => {
    const hash = recoveryCodeHash('abcd-efgh-jkmn-pqrs')
    for (const typed of ['ABCD-EFGH-JKMN-PQRS', 'abcdefghjkmnpqrs', ' abcd efgh jkmn pqrs '])
      expect(recoveryCodeHash(typed).equals(hash)).toBe(true)
    expect(recoveryCodeHash('abcd-efgh-jkmn-pqrt').equals(hash)).toBe(false)
  })
})
