import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type TargetStatus, targetStatuses } from '../upgrade.ts'
import { countPhases } from './phase-counts.ts'

const device = (status: TargetStatus) => ({ mac: 'm', site_id: 's', phase: 1, status })

it('counts the devices of a phase so that the parts sum to the whole', () => {
  const statuses = fc.constantFrom(...targetStatuses.filter((status) => status !== 'left_out'))
  fc.assert(
    fc.property(fc.array(statuses), (states) => {
      const countOf = (status: TargetStatus) => states.filter((state) => state === status).length
      const phase = { phase: 1, total: states.length, upgraded: countOf('upgraded'), failed: countOf('failed') }
      const [counted] = countPhases({ phases: [phase], devices: states.map(device), status: 'running' })
      if (counted === undefined) throw new Error('no phase')
      const { upgraded, failed, underWay, cancelled, waiting } = counted
      expect(upgraded + failed + underWay + cancelled + waiting).toBe(states.length)
      expect(waiting).toBe(countOf('scheduled') + countOf('skipped'))
    }),
  )
})

it('tells phases that are open, ended, ahead and never opened', () => {
  const phases = [
    { phase: 1, total: 1, upgraded: 1, failed: 0, opened_at: 1, ended_at: 2 },
    { phase: 2, total: 1, upgraded: 0, failed: 0, opened_at: 2 },
    { phase: 3, total: 1, upgraded: 0, failed: 0 },
  ]
  const states = (status: 'running' | 'cancelled') =>
    countPhases({ phases, devices: [], status }).map(({ state }) => state)
  expect(states('running')).toEqual(['ended', 'open', 'ahead'])
  expect(states('cancelled')).toEqual(['ended', 'ended', 'closed'])
})

it('knows phases that tell no time by their results, and the one after them', () => {
  const phases = [
    { phase: 1, total: 1, upgraded: 1, failed: 0, opened_at: 1, ended_at: 2 },
    { phase: 2, total: 2, upgraded: 1, failed: 1, ended_at: 3 },
    { phase: 3, total: 1, upgraded: 0, failed: 1, ended_at: 4 },
    { phase: 4, total: 1, upgraded: 0, failed: 0 },
    { phase: 5, total: 2, upgraded: 0, failed: 1 },
  ]
  const states = (status: 'running' | 'cancelled', some = phases) =>
    countPhases({ phases: some, devices: [], status }).map(({ state }) => state)
  expect(states('running')).toEqual(['ended', 'ended', 'ended', 'open', 'ahead'])
  expect(states('cancelled', phases.slice(0, 4))).toEqual(['ended', 'ended', 'ended', 'closed'])
})
