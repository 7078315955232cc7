import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { macOf, textOf } from './report-values.ts'

describe('macOf', () => {
  const digit = fc.constantFrom(...Array.from('0123456789abcdefABCDEF'))
  const other = fc.constantFrom(':', '.', '-', ':', 'g', 'G', ' ', '`', '@', '/', '\u0130', '\uff11')

  test('returns the twelve digits in lower case, wherever the separators are, and nothing else', () => {
    const text = fc
      .tuple(fc.array(digit, { minLength: 11, maxLength: 13 }), fc.array(fc.tuple(other, fc.nat(17)), { maxLength: 6 }))
      .map(([digits, others]) => {
        for (const [character, at] of others) digits.splice(at, 0, character)
        return digits.join('')
      })
    fc.assert(
      fc.property(text, (value) => {
        const digits = value.replaceAll(/[:.-]/g, '')
        const isMac = value.length <= 17 && /^[0-9a-fA-F]{12}$/.test(digits)
        expect(macOf(value)).toBe(isMac ? digits.toLowerCase() : undefined)
      }),
    )
  })

  test.each([undefined, null, 12, 112_233_445_566, '', ['112233445566']])('returns nothing for %j', (value) => {
    expect(macOf(value)).toBeUndefined()
  })
})

describe('textOf', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc
      .array(fc.constantFrom('ab', ' ', 'http', '://', 'x', '\u0000', '\n', '\ud83d', 'é'), { maxLength: 30 })
      .map((parts) => parts.join('')),
  )

  test('returns a text that can be stored and shown, and returns that unchanged', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 64 }), (value, max) => {
        const shown = textOf(value, max)
        if (shown === undefined) return
        expect(shown).not.toBe('')
        expect(shown.length).toBeLessThanOrEqual(max)
        expect(shown.isWellFormed()).toBe(true)
        // oxlint-disable-next-line no-control-regex -- It is about them.
        expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        if (shown === shown.trim()) expect(textOf(shown, max)).toBe(shown)
      }),
    )
  })

  test('keeps plain texts up to the limit, and removes surrounding spaces and addresses', () => {
    expect(textOf('a b', 3)).toBe('a b')
    expect(textOf(' a b ', 5)).toBe('a b')
    expect(textOf('abcd', 3)).toBe('abc')
    expect(textOf('  ', 3)).toBeUndefined()
    expect(textOf('get http://host/secret now', 64)).toBe('get (address) now')
  })
})
