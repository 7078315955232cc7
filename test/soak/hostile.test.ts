import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attacks, parseAttackNames } from '../../bench/support/hostile/attacks.ts'
import { type Observed, joinObserved, judge, timesOf } from '../../bench/support/hostile/figures.ts'
import { withHostileWorld } from '../../bench/support/hostile/world.ts'
import { parseMixes, planMixes, repeatMixes } from '../../soak/support/plan-mixes.ts'
import { createRandom } from '../../soak/support/random.ts'

const names = Object.keys(attacks)

it('plans mixes without an attack twice, and each attack as often as any other', () => {
  const counts = fc.record({
    seed: fc.nat(),
    known: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
    mixes: fc.integer({ min: 1, max: 40 }),
    together: fc.integer({ min: 1, max: 30 }),
  })
  fc.assert(
    fc.property(counts, ({ seed, known, mixes, together }) => {
      const plan = planMixes(createRandom(seed), known, { mixes, together })
      expect(plan).toHaveLength(mixes)
      const times = new Map(known.map((name) => [name, 0]))
      for (const mix of plan) {
        expect(new Set(mix).size).toBe(Math.min(together, known.length))
        for (const name of mix) times.set(name, (times.get(name) ?? Number.NaN) + 1)
      }
      const all = [...times.values()]
      expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1)
      expect(planMixes(createRandom(seed), known, { mixes, together })).toEqual(plan)
    }),
  )
})

it('parses names of attacks, and says which one is unknown', () => {
  expect(parseAttackNames(undefined)).toEqual(names)
  expect(parseAttackNames('pages, claims')).toEqual(['pages', 'claims'])
  expect(() => parseAttackNames('pages,toString')).toThrow('--attacks has "toString", but must be some of pages, ')
})

it('repeats the given mixes, and says which attack is unknown', () => {
  const mixes = parseMixes('pages + claims,disk')
  expect(repeatMixes(mixes, 3)).toEqual([['pages', 'claims'], ['disk'], ['pages', 'claims']])
  expect(() => parseMixes('pages+flood')).toThrow('"flood"')
})

describe('what the tenant saw', () => {
  const seen: Observed = { calls: [], deliveries: [], joins: [], errors: [], maxKb: 0, maxWithChildrenKb: 0 }
  const demands = { p99Ms: 100, memoryMb: 600 }

  it('is summed up by ranks', () => {
    const values = Array.from({ length: 1000 }, (_, index) => 1000 - index)
    expect(timesOf(values)).toEqual({ p50_ms: 500, p99_ms: 990, max_ms: 1000 })
    expect(timesOf([])).toEqual({ p50_ms: 0, p99_ms: 0, max_ms: 0 })
    const joined = joinObserved([
      { ...seen, calls: [1], errors: ['a'], maxKb: 2 },
      { ...seen, calls: [3], joins: [5], maxKb: 1, maxWithChildrenKb: 4 },
    ])
    expect(joined).toEqual({ ...seen, calls: [1, 3], joins: [5], errors: ['a'], maxKb: 2, maxWithChildrenKb: 4 })
  })

  it('passes without errors, within the limits, if every attack did something', () => {
    const within = { ...seen, calls: [...Array<number>(99).fill(100), 101], maxKb: 600 * 1024 }
    expect(judge(within, { pages: { 200: 1, 429: 1 } }, demands)).toEqual([])
  })

  it('fails for every defect', () => {
    const observed = { ...seen, calls: [101], errors: ['an error', 'an error'], maxKb: 601 * 1024 }
    expect(judge(observed, { pages: { 500: 2 }, claims: {} }, demands)).toEqual([
      'an error',
      'the p99 of the tenant is 101 ms, more than 100',
      'the server took 601 MB, more than 600',
      'pages got 2 times a 500',
      'claims did nothing',
    ])
  })
})

it('attacks a server beside a tenant that gets no error', { timeout: 300_000 }, async () => {
  const some = ['claims', 'recovery', 'frames', 'garbage']
  await withHostileWorld(some, async ({ tenant, prepare, start, stop, logged }) => {
    await prepare(some)
    let idle = some
    while (idle.length > 0) {
      await start(idle)
      const observed = await tenant.observe(1)
      const report = await stop()
      expect(judge(observed, {}, { p99Ms: Infinity, memoryMb: Infinity })).toEqual([])
      expect(Object.values(report).filter((outcomes) => '500' in outcomes)).toEqual([])
      idle = idle.filter((name) => Object.keys(report[name] ?? {}).length === 0)
    }
    expect(logged).toEqual([])
  })
})
