// The behavior that all strategies share, and that of each one. The last one exists only for this suite: it shows that
// a strategy is a value, which needs no change elsewhere.
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planPhasing } from './planning/plan-downloads.ts'
import { planOrderInSteps } from './planning/plan-order.ts'
import { placesOf, planAtOnce, planPhasesInSteps } from './planning/plan-phases.ts'
import { parseOrgUpgrade } from './wire-parse.ts'
import { type OrgUpgradeBody, orgUpgradeBodyOf } from './wire.ts'
import { strategies } from './strategies/index.ts'
import type { Phasing, Strategies, Strategy, TargetFacts } from './strategies/strategy.ts'
import { atOnce } from '../platform/queues/next-turn.ts'

const pilotFields = { pilots: Type.Optional(Type.Integer({ minimum: 1 })) }

/** Some devices of each site first, then everything: a plan that sees where its targets are. */
const pilot: Strategy<'test_pilot', typeof pilotFields> = {
  name: 'test_pilot',
  fields: pilotFields,
  parse({ pilots = 1 }) {
    return {
      scope: 'org',
      maxFailurePercentage: null,
      onlyType: null,
      joins: 'last_phase',
      percents: null,
      notes: [],
      *planInSteps(targets, { upgradeId }) {
        const bySite = Map.groupBy(yield* planOrderInSteps(upgradeId, targets), ({ siteId }) => siteId)
        const sites = [...bySite].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, some]) => some)
        return [sites.flatMap((some) => some.slice(0, pilots)), sites.flatMap((some) => some.slice(pilots))]
      },
      gate: (phase) => (phase === 1 ? { max_failures: 0, max_failure_percentage: null, min_upgraded: 1 } : null),
    }
  },
}

const registry: Strategies = { ...strategies, test_pilot: pilot }

const parse = (body: Readonly<Record<string, unknown>>): Phasing => {
  const schema = orgUpgradeBodyOf(registry)
  expect([...Value.Errors(schema, body)]).toEqual([])
  return parseOrgUpgrade(Value.Decode(schema, body), registry).phasing
}

const target = fc.record({
  mac: fc.integer({ min: 0, max: 2 ** 40 }).map((id) => id.toString(16).padStart(12, '0')),
  siteId: fc.constantFrom('site-1', 'site-2', 'site-3'),
  type: fc.constantFrom('ap', 'switch'),
  model: fc.constantFrom('AP-1', 'AP-2', 'SW-1'),
  role: fc.constantFrom(null, 'edge'),
  memberVersions: fc.constantFrom([], ['1.0', '1.0']),
  fromVersion: fc.constantFrom(null, '1.0', '1.1'),
  connected: fc.boolean(),
})
const fleet = fc.uniqueArray(target, { selector: ({ mac }) => mac, maxLength: 80 })

const bySite = (targets: readonly TargetFacts[]) =>
  [...Map.groupBy(targets, ({ siteId }) => siteId)].map(([upgradeId, some]) => ({ upgradeId, targets: some }))

describe.each(Object.entries(registry))('the strategy %s', (name, strategy) => {
  const phasing = parse({ strategy: name })
  const facts = { upgradeId: 'u' }

  test('has the name under which it is registered, and a schema for it', () => {
    expect(strategy.name).toBe(name)
    expect(Object.keys(orgUpgradeBodyOf(registry).properties)).toEqual(
      expect.arrayContaining(Object.keys(strategy.fields)),
    )
    expect(parseOrgUpgrade({ strategy: name }, registry).strategy).toBe(name)
    expect(parseOrgUpgrade({ strategy: name, download_strategy: name }, registry).strategy).toBe(name)
  })

  test('puts every target into exactly one phase', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        const placed = planAtOnce(phasing, targets, facts).flat()
        expect(placed).toHaveLength(targets.length)
        expect(new Set(placed)).toEqual(new Set(targets))
      }),
    )
  })

  test('plans by the facts alone, not by the order in which the targets come', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        const plan = planAtOnce(phasing, targets, facts)
        expect(planAtOnce(phasing, targets, facts)).toEqual(plan)
        expect(planAtOnce(phasing, targets.toReversed(), facts)).toEqual(plan)
      }),
    )
  })

  test('has a gate, or none, after every phase', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        for (const index of planAtOnce(phasing, targets, facts).keys()) {
          const gate = phasing.gate(index + 1)
          if (gate === null) continue
          const { max_failures: limit, max_failure_percentage: percent, min_upgraded: atLeast } = gate
          expect(limit === null || (Number.isInteger(limit) && limit >= 0)).toBe(true)
          expect(percent === null || (percent >= 0 && percent <= 100)).toBe(true)
          expect(Number.isInteger(atLeast) && atLeast >= 0).toBe(true)
          // It can be stored in a document of the database unchanged.
          expect(JSON.parse(JSON.stringify(gate))).toEqual(gate)
        }
      }),
    )
  })

  test('is planned into phases of site upgrades whose targets and sizes add up', () => {
    fc.assert(
      fc.property(fleet, (targets) => {
        const sites = bySite(targets)
        const { org, bySite: plans } = atOnce(planPhasesInSteps(sites, { phasing, upgradeId: 'u' }))
        expect(org === null).toBe(phasing.scope === 'site')
        for (const site of sites) {
          const plan = plans.get(site.upgradeId)
          const placed = plan === undefined ? [] : [...placesOf(plan)]
          expect(new Set(placed.map(({ target }) => target))).toEqual(new Set(site.targets))
          expect(placed.map(({ ordinal }) => ordinal)).toEqual(site.targets.map((_, index) => index + 1))
          const phases = placed.map(({ phase }) => phase)
          expect(phases).toEqual(phases.toSorted((a, b) => a - b))
          expect(plan?.phases.map(({ length }) => length)).toEqual(
            plan?.phases.map((_, index) => phases.filter((phase) => phase === index + 1).length),
          )
          if (org !== null) expect(plan?.gates).toBeNull()
        }
        const sums = org?.phase_sizes.map((_, index) =>
          [...plans.values()].reduce((sum, site) => sum + (site.phases[index]?.length ?? 0), 0),
        )
        if (sites.length > 0) expect(sums).toEqual(org?.phase_sizes)
      }),
    )
  })
})

test.each([
  [{ strategy: 'canary', reboot_strategy: 'big_bang' }, 'big_bang', 1],
  [{ strategy: 'rrm', reboot_strategy: 'serial' }, 'serial', 3],
  [{ strategy: 'serial', reboot_strategy: 'canary' }, 'canary', 4],
  [{ strategy: 'serial', download_strategy: 'big_bang' }, 'serial', 3],
  [{ strategy: 'canary' }, 'canary', 4],
  [{ download_strategy: 'canary' }, 'big_bang', 4],
  [{ download_strategy: 'canary', reboot_strategy: 'big_bang' }, 'big_bang', 4],
  [{}, 'big_bang', 1],
] as const)('%o is the strategy %s, in %i phases for three devices', (body, name, count) => {
  const request = parseOrgUpgrade(body)
  const targets = Array.from({ length: 3 }, (_, index) => ({ mac: `${index}`, siteId: 's', type: 'ap' as const }))
  const facts = { model: 'AP-1', role: null, memberVersions: [], fromVersion: '1.0', connected: true }
  const { phasing, downloads, notes } = planPhasing(request, [])
  const phases = planAtOnce(
    phasing,
    targets.map((one) => Object.assign(one, facts)),
    { upgradeId: 'u' },
  )
  expect([request.strategy, phases.length, downloads]).toEqual([name, count, null])
  const reason = expect.stringContaining('phases of the download_strategy canary')
  expect(notes).toEqual(name === 'big_bang' && count > 1 ? [{ reason }] : [])
})

test('a strategy of the registry alone is part of the schema, of the parser and of the errors', () => {
  const schema = orgUpgradeBodyOf(registry)
  expect(Value.Check(schema, { strategy: 'test_pilot', pilots: 2 })).toBe(true)
  expect(Value.Check(schema, { strategy: 'test_pilot', pilots: 0 })).toBe(false)
  expect(Value.Check(orgUpgradeBodyOf(strategies), { strategy: 'test_pilot' })).toBe(false)
  expect(() => parseOrgUpgrade({ strategy: 'test_pilot' })).toThrow('Invalid field strategy: ')
})

describe('the phases of', () => {
  const targets = (count: number): TargetFacts[] =>
    Array.from({ length: count }, (_, index) => ({
      mac: index.toString(16).padStart(12, '0'),
      siteId: `site-${index % 3}`,
      type: 'ap',
      model: 'AP-1',
      role: null,
      memberVersions: [],
      fromVersion: '1.0',
      connected: true,
    }))
  const sizesOf = (body: Readonly<Record<string, unknown>>, count: number) =>
    planAtOnce(parse(body), targets(count), { upgradeId: 'u' }).map(({ length }) => length)

  test.each([
    [0, [0, 0, 0, 0]],
    [1, [1, 0, 0, 0]],
    [7, [1, 0, 3, 3]],
    [50, [1, 4, 20, 25]],
    [51, [1, 5, 20, 25]],
    [100, [1, 9, 40, 50]],
    [101, [2, 9, 40, 50]],
    [1000, [10, 90, 400, 500]],
  ])('canary, of %i targets, are the default shares', (count, sizes) => {
    expect(sizesOf({ strategy: 'canary' }, count)).toEqual(sizes)
  })

  test('canary are the percentages asked for', () => {
    expect(sizesOf({ strategy: 'canary', canary_phases: [10, 50] }, 101)).toEqual([11, 40, 50])
  })

  test('canary are so many sites, then the rest', () => {
    const body = { strategy: 'canary', canary_sites: [1, 2] }
    expect(sizesOf(body, 9)).toEqual([3, 3, 3])
    expect(sizesOf({ ...body, canary_sites: [2, 5] }, 9)).toEqual([6, 3, 0])
    fc.assert(
      fc.property(fleet, (some) => {
        const phases = planAtOnce(parse(body), some, { upgradeId: 'u' })
        const sites = phases.map((phase) => new Set(phase.map(({ siteId }) => siteId)))
        const all = new Set(some.map(({ siteId }) => siteId)).size
        expect(sites.map(({ size }) => size)).toEqual([Math.min(1, all), all > 1 ? 1 : 0, Math.max(0, all - 2)])
        expect(sites.reduce((sum, { size }) => sum + size, 0)).toBe(all)
      }),
    )
  })

  test('canary_sites are refused beside what contradicts them', () => {
    const refused = (body: Readonly<Record<string, unknown>>) => expect(() => parse({ canary_sites: [1, 2], ...body }))
    for (const body of [
      { strategy: 'serial' },
      { strategy: 'canary', canary_phases: [50] },
      { strategy: 'canary', phase_scope: 'site' },
      { strategy: 'canary', canary_sites: [2, 2] },
    ])
      refused(body).toThrow('Invalid field canary_sites: ')
    refused({ strategy: 'canary', max_failures: [1] }).toThrow('must have 3, one for each phase, or 2, without')
    expect(parse({ strategy: 'canary', canary_sites: [1, 2], max_failures: [1, 2] }).gate(3)?.max_failures).toBe(2)
  })

  test('big_bang are one, serial one a device', () => {
    expect(sizesOf({ strategy: 'big_bang' }, 3)).toEqual([3])
    expect(sizesOf({ strategy: 'serial' }, 3)).toEqual([1, 1, 1])
    expect(sizesOf({ strategy: 'serial' }, 0)).toEqual([])
  })

  test('rrm are batches that double, up to a tenth', () => {
    expect(sizesOf({ strategy: 'rrm' }, 100)).toEqual([2, 4, 8, ...Array.from({ length: 8 }, () => 10), 6])
    expect(sizesOf({ strategy: 'rrm', rrm_max_batch_percentage: 50, rrm_first_batch_percentage: 20 }, 10)).toEqual([
      2, 4, 4,
    ])
  })

  test('the strategy of this suite are one device of each site, then the others', () => {
    expect(sizesOf({ strategy: 'test_pilot' }, 11)).toEqual([3, 8])
    expect(sizesOf({ strategy: 'test_pilot', pilots: 2 }, 11)).toEqual([6, 5])
  })
})

describe('the gate of canary', () => {
  test('asks for the percentage and for a success in each phase', () => {
    const gate = { max_failures: null, max_failure_percentage: 7, min_upgraded: 1 }
    expect(parse({ strategy: 'canary', max_failure_percentage: 7 }).gate(1)).toEqual(gate)
    expect(parse({ strategy: 'canary', max_failure_percentage: 7 }).maxFailurePercentage).toBe(7)
  })

  test('limits each phase that was sent, and the implied last one like the one before', () => {
    const phasing = parse({ strategy: 'canary', canary_phases: [1, 10, 50], max_failures: [0, 2, 5] })
    expect([1, 2, 3, 4].map((phase) => phasing.gate(phase)?.max_failures)).toEqual([0, 2, 5, 5])
    for (const limits of [[1], [1, 2], [1, 2, 3, 4, 5]])
      expect(() => parse({ strategy: 'canary', canary_phases: [1, 10, 50], max_failures: limits })).toThrow(
        `${limits.length === 1 ? '1 number' : `${limits.length} numbers`}, but must have 4, one for each phase, or 3, without that of the last phase`,
      )
    const groups = { canary_groups: [{ rules: [{ match_role: 'lab' }] }], max_failures: [1, 2, 3] }
    expect(() => parse({ strategy: 'canary', ...groups })).toThrow('has 3 numbers, but must have 2, one for each phase')
    expect(() => parse({ strategy: 'canary', canary_phases: [50, 100], max_failures: [1] })).toThrow(
      /one for each phase$/,
    )
  })

  test('is the limit of the phase alone where the request has such limits', () => {
    const phasing = parse({ strategy: 'canary', canary_phases: [50], max_failures: [1, 2] })
    const gate = { max_failure_percentage: null, min_upgraded: 0 }
    expect([1, 2].map((phase) => phasing.gate(phase))).toEqual([
      { ...gate, max_failures: 1 },
      { ...gate, max_failures: 2 },
    ])
    expect(phasing.maxFailurePercentage).toBeNull()
  })
})

describe('a percentage of failures', () => {
  const reason = 'max_failure_percentage has no effect with'

  test.each<[OrgUpgradeBody, string[]]>([
    [{ max_failure_percentage: 20 }, [`${reason} the strategy big_bang`]],
    // Published clients send the default with every strategy.
    [{ max_failure_percentage: 5 }, []],
    [{ strategy: 'serial', max_failure_percentage: 20 }, []],
    [{ download_strategy: 'serial', max_failure_percentage: 20 }, []],
    [{ reboot_strategy: 'serial', max_failure_percentage: 20 }, []],
    [{ strategy: 'canary', max_failure_percentage: 20 }, []],
    [{ strategy: 'canary', max_failures: [], max_failure_percentage: 20 }, []],
    [{ strategy: 'canary', max_failures: [0, 1, 2, 3], max_failure_percentage: 20 }, [`${reason} max_failures`]],
    [{ strategy: 'canary', max_failures: [0, 1, 2, 3], max_failure_percentage: 5 }, []],
    [
      { download_strategy: 'canary', max_failures: [0, 1, 2, 3], max_failure_percentage: 20 },
      [`${reason} max_failures`],
    ],
  ])('is noted where it has no effect: %j', (body, expected) => {
    const { phasing, downloads } = parseOrgUpgrade(body)
    const reasons = [phasing, downloads?.phasing].flatMap((each) => each?.notes.map((note) => note.reason) ?? [])
    expect([...new Set(reasons)]).toEqual(expected)
  })
})
