import { expect, test } from 'vitest'
import { candidateOf, catalogEntry } from '../../../test/support/fleets/candidates.ts'
import { atOnce } from '../../platform/queues/next-turn.ts'
import type { Candidate } from '../../rollout/store-candidates.ts'
import { type Planned, type PlannedSite, placeInSteps, planTargets } from './plan-targets.ts'

const entry = catalogEntry('2.0')
const deviceOf = (index: number): Candidate => candidateOf(index.toString(16).padStart(12, '0'))

/** The devices are in two phases, the odd ones before the even ones, and download all in one. */
function siteOf(devices: readonly Candidate[]): PlannedSite {
  const plans = devices.map((device): Planned => ({ kind: 'upgrade', device, entry, force: false }))
  const [even, odd] = [0, 1].map((rest) => devices.filter((_, index) => index % 2 === rest))
  const phases = { phases: [odd ?? [], even ?? []], gates: null }
  return {
    upgradeId: 'upgrade',
    plans,
    busy: new Map(),
    phases,
    downloads: { ...phases, phases: [devices] },
    ranks: new Map(),
  }
}

test('gives each device the place of its phases, in the order of the plans', () => {
  const targets = [...planTargets(atOnce(placeInSteps(siteOf([1, 2, 3, 4].map(deviceOf)))), { staged: false })]
  expect(targets.map(({ mac, phase, ordinal, downloadPhase }) => [Number(mac), phase, ordinal, downloadPhase])).toEqual(
    [
      [1, 2, 3, 1],
      [2, 1, 1, 1],
      [3, 2, 4, 1],
      [4, 1, 2, 1],
    ],
  )
})

test('places the devices of a large site in steps, which other requests may interrupt', () => {
  const devices = Array.from({ length: 5000 }, (_, index) => deviceOf(index))
  // The devices of the plans, of the phases and of the downloads, a thousand in each step.
  expect([...placeInSteps(siteOf(devices))]).toHaveLength(15)
})

test('refuses phases with a device that is not in the plan', () => {
  const site = siteOf([1, 2].map(deviceOf))
  expect(() => atOnce(placeInSteps({ ...site, plans: site.plans.slice(1) }))).toThrow(
    'is in phase 2, but not in the plan',
  )
})
