import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareVersions } from './compare-versions.ts'

const version = fc.oneof(
  fc
    .array(fc.constantFrom('0', '1', '9', '10', '.', '-', '~', '+', ':', 'a', 'rc', 'Z'), { maxLength: 8 })
    .map((parts) => parts.join('')),
  fc.string({ maxLength: 12 }),
)
const sign = (a: string, b: string): number => Math.sign(compareVersions(a, b))

describe('compareVersions', () => {
  test.each([
    ['1.9', '1.10'],
    ['1.0~rc1', '1.0'],
    ['1.0~~', '1.0~'],
    ['1.0', '1.0a'],
    ['1.0a', '1.0+'],
    ['1.0', '1.0-1'],
    ['1.0-9', '1.0.1-1'],
    ['2.0', '1:1.0'],
    ['0.1.2847', '0.1.2900'],
    ['9'.repeat(40), `1${'0'.repeat(40)}`],
    ['', '0.1'],
  ])('takes %j for older than %j', (older, newer) => {
    expect([sign(older, newer), sign(newer, older)]).toEqual([-1, 1])
  })

  test.each([
    ['1.0', '1.00'],
    ['0:1.0', '1.0'],
    ['1.0-0', '1.0'],
    ['1.01', '1.1'],
  ])('takes %j and %j for equally new', (a, b) => {
    expect(sign(a, b)).toBe(0)
  })

  test('is an order: reflexive, and the same from both sides and over a third version', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(sign(a, a)).toBe(0)
        expect(sign(a, b)).toBe(0 - sign(b, a))
        if (sign(a, b) <= 0 && sign(b, c) <= 0) expect(sign(a, c)).toBeLessThanOrEqual(0)
        if (sign(a, b) === 0) expect(sign(a, c)).toBe(sign(b, c))
      }),
      { numRuns: 3000 },
    )
  })

  test('agrees with numbers, whatever is around them', () => {
    const prefix = fc.constantFrom('', '1.', '2:', 'v', '1.0-')
    fc.assert(
      fc.property(prefix, fc.nat(), fc.nat(), (before, a, b) => {
        expect(sign(`${before}${a}`, `${before}${b}`)).toBe(Math.sign(a - b))
      }),
    )
  })
})
