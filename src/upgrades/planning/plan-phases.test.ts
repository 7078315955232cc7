import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PhasePlan, type SiteTargets, placesOf, planAtOnce, planPhasesInSteps, sizesOf } from './plan-phases.ts'
import { strategies } from '../strategies/index.ts'
import type { TargetFacts } from '../strategies/strategy.ts'
import { atOnce } from '../../platform/queues/next-turn.ts'

const options = { upgradeId: 'org', phasing: strategies.canary.parse({}) }
const facts = { siteId: 'site', type: 'ap', role: null, memberVersions: [] } as const

const kind = fc.record({
  model: fc.constantFrom('AP-1', 'AP-2', 'SW-1'),
  fromVersion: fc.constantFrom(null, '1.0', '1.1'),
  connected: fc.boolean(),
})
/** Each list is a site; MACs are distinct over all of them. */
const sites = fc.array(fc.array(kind, { maxLength: 12 }), { maxLength: 20 }).map((lists) => {
  let macs = 0
  return lists.map((devices, index) => ({
    upgradeId: `site-${index}`,
    targets: devices.map((device): TargetFacts => {
      macs += 1
      return { ...facts, ...device, siteId: `site-${index}`, mac: macs.toString(16).padStart(12, '0') }
    }),
  }))
})

const placedIn = (plan: PhasePlan<TargetFacts> | undefined) => (plan === undefined ? [] : [...placesOf(plan)])

const uniform = (siteCount: number, devices: number) =>
  Array.from({ length: siteCount }, (_, site) => ({
    upgradeId: `site-${site}`,
    targets: Array.from({ length: devices }, (_, index) => {
      const mac = (site * devices + index).toString(16).padStart(12, '0')
      return { ...facts, siteId: `site-${site}`, mac, model: 'AP-1', fromVersion: '1.0', connected: true }
    }),
  }))

describe('canary phases of the whole upgrade', () => {
  test.each([
    [0, [0, 0, 0, 0]],
    [1, [1, 0, 0, 0]],
    [7, [1, 0, 3, 3]],
    [50, [1, 4, 20, 25]],
    [51, [1, 5, 20, 25]],
    [100, [1, 9, 40, 50]],
    [101, [2, 9, 40, 50]],
    [1000, [10, 90, 400, 500]],
  ])('of %i sites with one device each are shares of all', (count, sizes) => {
    expect(atOnce(planPhasesInSteps(uniform(count, 1), options)).org?.phase_sizes).toEqual(sizes)
  })

  test('are a partition: every target is in one phase of its own site, and the sites add up', () => {
    fc.assert(
      fc.property(sites, (list) => {
        const { org, bySite } = atOnce(planPhasesInSteps(list, options))
        const sizes = org?.phase_sizes
        const all = list.flatMap(({ targets }) => targets)
        expect(sizes).toEqual(planAtOnce(options.phasing, all, options).map(({ length }) => length))
        for (const { upgradeId, targets } of list) {
          const plan = bySite.get(upgradeId)
          const placed = placedIn(plan)
          expect(new Set(placed.map(({ target }) => target))).toEqual(new Set(targets))
          expect(placed.map(({ ordinal }) => ordinal)).toEqual(targets.map((_, index) => index + 1))
          const phases = placed.map(({ phase }) => phase)
          expect(phases).toEqual(phases.toSorted((a, b) => a - b))
          expect(plan && sizesOf(plan)).toEqual(
            sizes?.map((_, index) => phases.filter((phase) => phase === index + 1).length),
          )
        }
        const sum = sizes?.map((_, index) =>
          [...bySite.values()].reduce((sofar, site) => sofar + (site.phases[index]?.length ?? 0), 0),
        )
        expect(sum).toEqual(sizes)
      }),
    )
  })

  test('depend on the upgrade and the targets, not on the order in which sites and targets come', () => {
    const phasesOf = (list: readonly SiteTargets<TargetFacts>[], upgradeId = 'org') => {
      const { bySite } = atOnce(planPhasesInSteps(list, { ...options, upgradeId }))
      const all = [...bySite.values()].flatMap((site) =>
        placedIn(site).map(({ target, phase }) => [target.mac, phase] as const),
      )
      return Object.fromEntries(all)
    }
    fc.assert(
      fc.property(sites, (list) => {
        const reversed = list
          .toReversed()
          .map(({ upgradeId, targets }) => ({ upgradeId, targets: targets.toReversed() }))
        expect(phasesOf(reversed)).toEqual(phasesOf(list))
      }),
    )
    expect(phasesOf(uniform(50, 2))).not.toEqual(phasesOf(uniform(50, 2), 'other'))
  })

  test('begin with devices that are online, and cover their kinds', () => {
    const list = Array.from({ length: 40 }, (_, site) => ({
      upgradeId: `site-${site}`,
      targets: Array.from({ length: 5 }, (_, index) => ({
        ...facts,
        siteId: `site-${site}`,
        mac: (site * 5 + index).toString(16).padStart(12, '0'),
        model: site === 3 ? 'AP-9' : 'AP-1',
        fromVersion: '1.0',
        connected: site < 20,
      })),
    }))
    const first = [...atOnce(planPhasesInSteps(list, options)).bySite.values()].flatMap(({ phases }) => phases[0] ?? [])
    expect(first).toHaveLength(2)
    expect(first.every(({ connected }) => connected)).toBe(true)
    expect(new Set(first.map(({ model }) => model))).toEqual(new Set(['AP-1', 'AP-9']))
  })

  test('of one site are those of the site alone', () => {
    const [only] = uniform(1, 101)
    const placed = placedIn(atOnce(planPhasesInSteps(uniform(1, 101), options)).bySite.get('site-0'))
    const alone = planAtOnce(options.phasing, only?.targets ?? [], options)
    expect(placed.map(({ target }) => target)).toEqual(alone.flat())
    expect(alone.map((_, index) => placed.filter(({ phase }) => phase === index + 1).length)).toEqual([2, 9, 40, 50])
  })
})

test('phases of each site are planned site by site, each with the gates of its own', () => {
  const phasing = strategies.canary.parse({ phase_scope: 'site', canary_phases: [50] })
  const { org, bySite } = atOnce(planPhasesInSteps(uniform(3, 20), { upgradeId: 'org', phasing }))
  expect(org).toBeNull()
  for (const site of uniform(3, 20)) {
    const plan = bySite.get(site.upgradeId)
    expect(plan && sizesOf(plan)).toEqual([10, 10])
    expect(plan?.gates).toEqual([phasing.gate(1), phasing.gate(2)])
    expect(placedIn(plan).map(({ target }) => target)).toEqual(
      planAtOnce(phasing, site.targets, { upgradeId: 'org' }).flat(),
    )
  }
})

test('phases without gates store none', () => {
  const phasing = strategies.serial.parse({})
  expect(atOnce(planPhasesInSteps(uniform(1, 3), { upgradeId: 'org', phasing })).bySite.get('site-0')?.gates).toBeNull()
})

test('as many kinds as devices are planned in time that grows with the devices', () => {
  const targets = Array.from({ length: 40_000 }, (_, index) => ({
    ...facts,
    mac: index.toString(16).padStart(12, '0'),
    model: 'AP-1',
    fromVersion: index < 20_000 ? `1.${index}` : '1.0',
    connected: true,
  }))
  const { org } = atOnce(planPhasesInSteps([{ upgradeId: 'site', targets }], options))
  expect(org?.phase_sizes).toEqual([400, 3600, 16_000, 20_000])
})
