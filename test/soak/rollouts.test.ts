import fc from 'fast-check'
import { expect, it } from 'vitest'
import { run } from '../../soak/rollout.ts'
import { onAllSites, onSomeSites } from '../../soak/support/plan-rollouts.ts'
import { createRandom } from '../../soak/support/random.ts'

it('gives each site to one of the rollouts that begin together, and repeats the plan of a seed', () => {
  const counts = fc.record({
    seed: fc.nat(),
    sites: fc.integer({ min: 1, max: 20 }),
    together: fc.integer({ min: 1, max: 7 }),
  })
  fc.assert(
    fc.property(counts, ({ seed, sites, together }) => {
      const rollouts = onSomeSites(together)(createRandom(seed), sites)
      expect(rollouts).toHaveLength(Math.min(together, sites))
      const all = rollouts.flatMap((rollout) => rollout.sites)
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: sites }, (_, place) => place))
      const requests = rollouts.map(({ request }) => JSON.stringify(request))
      expect(new Set(requests).size).toBe(requests.length)
      expect(onSomeSites(together)(createRandom(seed), sites)).toEqual(rollouts)
    }),
  )
})

it('gives all sites to one rollout', () => {
  expect(onAllSites({ strategy: 'serial' })(createRandom(1), 3)).toEqual([
    { sites: [0, 1, 2], request: { strategy: 'serial' } },
  ])
})

it('refuses options that would have no effect', async () => {
  await expect(run({ short: true, row: true })).rejects.toThrow('--short and --row exclude each other')
  await expect(run({ row: true, together: '3' })).rejects.toThrow('--together needs --short')
})
