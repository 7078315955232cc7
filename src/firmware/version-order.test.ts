import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareVersions } from './version-order.ts'

describe('the order of versions', () => {
  test('is natural', () => {
    const sorted = ['0.14.9', '0.14.10', '0.14.10-rc1', '22.4R3', '23.4R2-S3.9', '23.4R2-S11.1']
    expect(sorted.toReversed().toSorted(compareVersions)).toEqual(sorted)
  })

  test('is a total order', () => {
    const version = fc.stringMatching(/^[0-9a-c.R-]{0,8}$/)
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(0 - Math.sign(compareVersions(b, a)))
        expect(compareVersions(a, b) === 0).toBe(a === b)
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0)
      }),
    )
  })
})
