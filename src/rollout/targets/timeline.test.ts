import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noCounts } from '../rollout.ts'
import { decodeTimeline, encodeStep } from './timeline.ts'
import { keysOf } from '../../platform/records.ts'

const states = keysOf(noCounts)
const steps = fc.array(
  fc.record({
    state: fc.constantFrom(...states),
    at: fc.date({ min: new Date(0), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }),
    reason: fc.option(fc.constantFrom('offline', 'no_reconnect', 'No space left on the device: 3 MB'), { nil: null }),
  }),
)

test('the steps of a timeline are decoded as they were encoded, in order', () => {
  fc.assert(
    fc.property(steps, (all) => {
      expect(decodeTimeline(all.map(encodeStep).join(''))).toEqual(all)
    }),
  )
})

test('a reason in the words of a device stays in its line, and is cut', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('f', '1', ' ', '\n', '\u2028', '\ud83d', '\u{1f600}', '\0'), maxLength: 500 }),
      (reason) => {
        const at = new Date(1_790_000_000_000)
        const line = encodeStep({ state: 'failed', at, reason })
        expect(line.length).toBeLessThan(215)
        const before = encodeStep({ state: 'rebooting', at, reason: null })
        const decoded = decodeTimeline(before + line + before)
        expect(decoded.map(({ state }) => state)).toEqual(['rebooting', 'failed', 'rebooting'])
        expect(decoded[1]?.reason).toBe(reason.slice(0, 200).toWellFormed().replaceAll(/\s+/g, ' '))
      },
    ),
  )
})

test('a line that is not a step is left out', () => {
  expect(decodeTimeline('')).toEqual([])
  expect(decodeTimeline('\nzzz\n?\n')).toEqual([])
})
