import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commonNameOf, parseCommonName } from './identity.ts'

test('a common name says which appliance it is, and in which epoch of its registration', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.integer({ min: 1, max: 999_999_999 }), (mxedgeId, registrationEpoch) => {
      const identity = { mxedgeId, registrationEpoch }
      expect(commonNameOf(identity).length).toBeLessThanOrEqual(64)
      expect(parseCommonName(commonNameOf(identity))).toEqual(identity)
    }),
  )
})

test.each([
  '24fe9a0f48f0',
  'edge-0193a1c0-0000-7000-8000-000000000004',
  'edge-0193a1c0-0000-7000-8000-000000000004-0',
  'edge-0193a1c0-0000-7000-8000-000000000004-1x',
  'edge-0193a1c0-0000-7000-8000-000000000004-1\n',
  'x-edge-0193a1c0-0000-7000-8000-000000000004-1',
  '',
])('%j names no agent', (name) => {
  expect(parseCommonName(name)).toBeNull()
})
