import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Orderable, planOrderInSteps } from './plan-order.ts'
import { atOnce } from '../../platform/queues/next-turn.ts'

const target = fc.record({
  mac: fc.integer({ min: 0, max: 2 ** 40 }).map((id) => id.toString(16).padStart(12, '0')),
  model: fc.constantFrom('AP-1', 'AP-2', 'SW-1'),
  fromVersion: fc.constantFrom(null, '1.0', '1.1'),
  connected: fc.boolean(),
})
const fleet = fc.uniqueArray(target, { selector: ({ mac }) => mac, maxLength: 80 })
const kindOf = ({ model, fromVersion }: Orderable): string => `${model} ${fromVersion}`

describe('the order', () => {
  test('puts those online first, and one of each of their kinds before the second of any', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        const ordered = atOnce(planOrderInSteps('u', targets))
        const online = ordered.filter(({ connected }) => connected)
        expect(ordered.slice(0, online.length)).toEqual(online)
        const kinds = new Set(online.map(kindOf))
        expect(new Set(online.slice(0, kinds.size).map(kindOf))).toEqual(kinds)
      }),
    )
  })

  test('differs from upgrade to upgrade', () => {
    const targets = Array.from({ length: 50 }, (_, index) => ({
      mac: index.toString(16).padStart(12, '0'),
      model: 'AP-1',
      fromVersion: '1.0',
      connected: true,
    }))
    expect(atOnce(planOrderInSteps('one', targets))).not.toEqual(atOnce(planOrderInSteps('other', targets)))
  })

  test('depends on the facts alone, not on the order of the targets', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        expect(atOnce(planOrderInSteps('u', targets.toReversed()))).toEqual(atOnce(planOrderInSteps('u', targets)))
      }),
    )
  })

  test('prefers no part of a range of MACs', () => {
    const targets = Array.from({ length: 16_000 }, (_, index) => ({
      mac: index.toString(16).padStart(12, '0'),
      model: 'AP-1',
      fromVersion: '1.0',
      connected: true,
      quarter: Math.floor(index / 4000),
    }))
    const first = atOnce(planOrderInSteps('u', targets)).slice(0, 1600)
    for (const [, some] of Map.groupBy(first, ({ quarter }) => quarter))
      expect(Math.abs(some.length - 400)).toBeLessThan(80)
  })
})
