import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Orderable, planOrder } from './plan-order.ts'
import { planPhases } from './plan-phases.ts'
import { strategies } from './strategies/index.ts'

const DEFAULT_PERCENTS = [1, 10, 50, 100]

describe('canary sizes', () => {
  test.each([
    [0, [0, 0, 0, 0]],
    [1, [1, 0, 0, 0]],
    [7, [1, 0, 3, 3]],
    [50, [1, 4, 20, 25]],
    [51, [1, 5, 20, 25]],
    [100, [1, 9, 40, 50]],
    [101, [2, 9, 40, 50]],
    [1000, [10, 90, 400, 500]],
  ])('of %i targets', (targets, sizes) => {
    expect(strategies.canary(targets, { canaryPercents: DEFAULT_PERCENTS })).toEqual(sizes)
  })

  test('of the percentages asked for', () => {
    expect(strategies.canary(101, { canaryPercents: [10, 50, 100] })).toEqual([11, 40, 50])
  })
})

test('big_bang is one phase, serial one a device', () => {
  expect(strategies.big_bang(3)).toEqual([3])
  expect(strategies.serial(3)).toEqual([1, 1, 1])
  expect(strategies.serial(0)).toEqual([])
})

const target = fc.record({
  mac: fc.integer({ min: 0, max: 2 ** 40 }).map((id) => id.toString(16).padStart(12, '0')),
  model: fc.constantFrom('AP-1', 'AP-2', 'SW-1'),
  fromVersion: fc.constantFrom(null, '1.0', '1.1'),
  connected: fc.boolean(),
})
const fleet = fc.uniqueArray(target, { selector: ({ mac }) => mac, maxLength: 80 })
const strategy = fc.constantFrom('big_bang' as const, 'canary' as const, 'serial' as const)

describe('a plan', () => {
  test('is a partition into phases that rise along the order', () => {
    fc.assert(
      fc.property(fleet, strategy, (targets, strategy) => {
        const plan = planPhases(targets, { upgradeId: 'u', strategy, canaryPercents: DEFAULT_PERCENTS })
        expect(plan.targets.map(({ ordinal }) => ordinal)).toEqual(targets.map((_, index) => index + 1))
        expect(new Set(plan.targets.map(({ target }) => target.mac))).toEqual(new Set(targets.map(({ mac }) => mac)))
        const phases = plan.targets.map(({ phase }) => phase)
        expect(phases).toEqual(phases.toSorted((a, b) => a - b))
        expect(phases.every((phase) => phase >= 1 && phase <= plan.sizes.length)).toBe(true)
        expect(plan.sizes).toEqual(plan.sizes.map((_, index) => phases.filter((phase) => phase === index + 1).length))
      }),
    )
  })

  test('depends on the upgrade and the targets, not on the order in which they come', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        const options = { upgradeId: 'u', strategy: 'canary' as const, canaryPercents: DEFAULT_PERCENTS }
        expect(planPhases(targets.toReversed(), options)).toEqual(planPhases(targets, options))
      }),
    )
  })
})

const kindOf = ({ model, fromVersion }: Orderable): string => `${model} ${fromVersion}`

describe('the order', () => {
  test('puts those online first, and one of each of their kinds before the second of any', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        const ordered = planOrder('u', targets)
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
    expect(planOrder('one', targets)).not.toEqual(planOrder('other', targets))
  })
})
