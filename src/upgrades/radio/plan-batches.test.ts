import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BatchOptions, batchSizes, countSources, planBatchesInSteps } from './plan-batches.ts'
import { atOnce } from '../../platform/queues/next-turn.ts'
import { planGraphInSteps, planMeshDepths } from './plan-graph.ts'
import type { RadioFacts, RadioFactsByMac } from './radio.ts'

const defaults: BatchOptions = {
  firstPercent: 2,
  maxPercent: 10,
  order: 'fringe_to_center',
  slowRamp: false,
  mesh: 'sequential',
}
const macOf = (index: number): string => index.toString(16).padStart(12, '0')
const unknown: RadioFacts = { bssids: [], scan: null, position: null, parent: null, isMesh: false }
const fleet = (facts: readonly Partial<RadioFacts>[]): RadioFactsByMac =>
  new Map(facts.map((one, index) => [macOf(index), { ...unknown, bssids: [macOf(index)], ...one }]))
const targetsOf = (radio: RadioFactsByMac) => [...radio.keys()].map((mac) => ({ mac }))
const plan = (radio: RadioFactsByMac, options: Partial<BatchOptions> = {}): string[][] =>
  atOnce(planBatchesInSteps(targetsOf(radio), { ...defaults, ...options, radio })).map((batch) =>
    batch.map(({ mac }) => mac),
  )
const indexes = (batches: readonly string[][]) => batches.map((batch) => batch.map((mac) => Number.parseInt(mac, 16)))
const times = (count: number, size: number) => Array.from({ length: count }, () => size)

describe('the sizes of batches without neighbors', () => {
  test.each([
    [0, []],
    [1, [1]],
    [7, times(7, 1)],
    [50, [1, 2, 4, ...times(8, 5), 3]],
    [51, [2, 4, ...times(9, 5)]],
    [100, [2, 4, 8, ...times(8, 10), 6]],
    [101, [3, 6, ...times(9, 10), 2]],
    [1000, [20, 40, 80, ...times(8, 100), 60]],
  ])('of %i access points', (count, sizes) => {
    expect(plan(fleet(Array.from({ length: count }, () => ({})))).map(({ length }) => length)).toEqual(sizes)
  })

  test('grow by the first one in a slow ramp', () => {
    const sizes = plan(fleet(Array.from({ length: 1000 }, () => ({}))), { slowRamp: true }).map(({ length }) => length)
    expect(sizes).toEqual([20, 40, 60, 80, ...times(8, 100)])
  })

  test('never exceed the largest share', () => {
    const [first] = batchSizes(100, { firstPercent: 50, maxPercent: 10, slowRamp: false })
    expect(first).toBe(10)
  })
})

/** A line of access points, 20 m apart. */
const line = (count: number): RadioFactsByMac =>
  fleet(Array.from({ length: count }, (_, index) => ({ position: { mapId: 'floor', x: 20 * index, y: 0 } })))

describe('the order', () => {
  test('begins at the fringe, or in the center', () => {
    const options = { maxPercent: 20, firstPercent: 20 }
    expect(indexes(plan(line(5), options))).toEqual([[0], [4], [1], [3], [2]])
    expect(indexes(plan(line(5), { ...options, order: 'center_to_fringe' }))).toEqual([[2], [1], [3], [0], [4]])
  })
})

describe('neighbors', () => {
  test('are those that hear each other at -70 dBm or above, whichever of the two has scanned', () => {
    const heard = (rssi: number) =>
      plan(fleet([{ scan: [{ bssid: macOf(1), rssi }] }, {}]), { maxPercent: 100, firstPercent: 100 })
    expect(heard(-70)).toHaveLength(2)
    expect(heard(-71)).toHaveLength(1)
  })

  test('are found by any cell of theirs', () => {
    const radio = fleet([{ scan: [{ bssid: 'cell', rssi: -50 }] }, { bssids: ['cell'] }])
    expect(atOnce(planGraphInSteps([...radio.values()])).neighbors).toEqual([[1], [0]])
  })

  test('are near each other on one floor where neither has scanned', () => {
    const at = (x: number, mapId = 'floor') => ({ position: { mapId, x, y: 0 } })
    const batches = (...facts: Partial<RadioFacts>[]) =>
      plan(fleet(facts), { maxPercent: 100, firstPercent: 100 }).length
    expect(batches(at(0), at(25))).toBe(2)
    expect(batches(at(0), at(26))).toBe(1)
    expect(batches(at(0), at(5, 'other floor'))).toBe(1)
    expect(batches({ ...at(0), scan: [] }, at(5))).toBe(1 + 1 - 1)
  })

  test('are at one switch where neither has scanned nor is placed', () => {
    const options = { maxPercent: 100, firstPercent: 100 }
    expect(plan(fleet([{ parent: 'a' }, { parent: 'a' }, { parent: 'b' }]), options)).toHaveLength(2)
  })

  test('are counted by how they are known', () => {
    const position = { mapId: 'floor', x: 0, y: 0 }
    const radio = fleet([{ scan: [], position }, { position }, { position, parent: 'a' }, { parent: 'a' }, {}])
    expect(countSources(targetsOf(radio), radio)).toEqual({ scan: 1, map: 2, lldp: 1, none: 1 })
  })
})

describe('mesh access points', () => {
  /** The first one has a cable; each other one hears the previous and the next one. */
  const chain = fleet(
    Array.from({ length: 4 }, (_, index) => ({ position: { mapId: 'floor', x: 20 * index, y: 0 }, isMesh: index > 0 })),
  )

  test('come last, the deepest first, one by one', () => {
    expect(indexes(plan(chain, { maxPercent: 100, firstPercent: 100 }))).toEqual([[0], [3], [2], [1]])
  })

  test('come by levels in parallel', () => {
    const star = fleet([
      { position: { mapId: 'floor', x: 0, y: 0 } },
      { position: { mapId: 'floor', x: 20, y: 0 }, isMesh: true },
      { position: { mapId: 'floor', x: -20, y: 0 }, isMesh: true },
      { position: { mapId: 'floor', x: 40, y: 0 }, isMesh: true },
    ])
    const options = { maxPercent: 100, firstPercent: 100, mesh: 'parallel' } as const
    expect(indexes(plan(star, options))).toEqual([[0], [3], [2, 1]])
  })
})

const facts = fc.record({
  scan: fc.option(
    fc.array(fc.record({ bssid: fc.nat(40).map(macOf), rssi: fc.integer({ min: -95, max: -40 }) }), { maxLength: 6 }),
  ),
  position: fc.option(fc.record({ mapId: fc.constantFrom('a', 'b'), x: fc.nat(80), y: fc.nat(80) })),
  parent: fc.option(fc.constantFrom('switch-1', 'switch-2')),
  isMesh: fc.boolean(),
})
const sites = fc.array(facts, { maxLength: 40 }).map(fleet)
const options = fc.record({
  firstPercent: fc.integer({ min: 1, max: 100 }),
  maxPercent: fc.integer({ min: 1, max: 100 }),
  order: fc.constantFrom('center_to_fringe', 'fringe_to_center'),
  slowRamp: fc.boolean(),
  mesh: fc.constantFrom('parallel', 'sequential'),
}) as fc.Arbitrary<BatchOptions>

describe('any site', () => {
  test('is partitioned, whatever the order of its access points', () => {
    fc.assert(
      fc.property(sites, options, (radio, given) => {
        const batches = plan(radio, given)
        expect(batches.flat().toSorted()).toEqual([...radio.keys()])
        expect(batches.every(({ length }) => length > 0)).toBe(true)
        const reversed = atOnce(planBatchesInSteps(targetsOf(radio).toReversed(), { ...given, radio }))
        expect(reversed.map((batch) => batch.map(({ mac }) => mac))).toEqual(batches)
      }),
    )
  })

  test('has no neighbors, and no mesh access point with its parent, in one batch, and none above its size', () => {
    fc.assert(
      fc.property(sites, options, (radio, given) => {
        const known = [...radio.values()]
        const graph = atOnce(planGraphInSteps(known))
        const depths = planMeshDepths(known, graph)
        const cap = Math.max(1, Math.floor((given.maxPercent * known.length) / 100))
        let deepest = Infinity
        for (const batch of indexes(plan(radio, given))) {
          expect(batch.length).toBeLessThanOrEqual(cap)
          for (const index of batch) {
            expect(graph.neighbors[index]?.filter((other) => batch.includes(other))).toEqual([])
            const depth = depths[index] ?? null
            // Access points with a cable come first, and then the depths only decrease.
            expect(depth === null ? deepest === Infinity : depth <= deepest).toBe(true)
            if (depth !== null) deepest = depth
          }
          expect(new Set(batch.map((index) => depths[index])).size).toBe(1)
        }
      }),
    )
  })
})

describe('access points that are all within reach of each other', () => {
  const atOnePoint: Partial<RadioFacts> = { position: { mapId: 'floor', x: 0, y: 0 } }
  const atOneSwitch: Partial<RadioFacts> = { parent: 'switch' }
  const many = (count: number, facts: Partial<RadioFacts>) => fleet(Array.from({ length: count }, () => facts))

  test.each([
    ['place', atOnePoint],
    ['switch', atOneSwitch],
  ])('of one %s restart one after the other, and are refused where a plan would take too much memory', (_, facts) => {
    expect(plan(many(300, facts)).map(({ length }) => length)).toEqual(times(300, 1))
    expect(() => plan(many(3000, facts))).toThrow('more than 4000000 pairs are within reach of each other')
  })
})
