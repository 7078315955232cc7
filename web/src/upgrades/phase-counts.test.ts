import { expect, it } from 'vitest'
import { countPhases } from './phase-counts.ts'

const none = { upgraded: 0, failed: 0, under_way: 0, cancelled: 0 }

it('counts the devices of a phase that have yet to begin', () => {
  const phase = { phase: 1, total: 20, upgraded: 1, failed: 2, under_way: 3, cancelled: 4 }
  expect(countPhases({ phases: [phase], status: 'running' })).toMatchObject([
    { total: 20, upgraded: 1, failed: 2, underWay: 3, cancelled: 4, waiting: 10 },
  ])
})

it('distinguishes phases that are open, ended, ahead and never opened', () => {
  const phases = [
    { ...none, phase: 1, total: 1, upgraded: 1, opened_at: 1, ended_at: 2 },
    { ...none, phase: 2, total: 1, opened_at: 2 },
    { ...none, phase: 3, total: 1 },
  ]
  const states = (status: 'running' | 'cancelled') => countPhases({ phases, status }).map(({ state }) => state)
  expect(states('running')).toEqual(['ended', 'open', 'ahead'])
  expect(states('cancelled')).toEqual(['ended', 'ended', 'closed'])
})

it('derives the state of phases without times from their results', () => {
  const phases = [
    { ...none, phase: 1, total: 1, upgraded: 1, opened_at: 1, ended_at: 2 },
    { ...none, phase: 2, total: 2, upgraded: 1, failed: 1, ended_at: 3 },
    { ...none, phase: 3, total: 1, failed: 1, ended_at: 4 },
    { ...none, phase: 4, total: 1 },
    { ...none, phase: 5, total: 2, failed: 1 },
  ]
  const states = (status: 'running' | 'cancelled', some = phases) =>
    countPhases({ phases: some, status }).map(({ state }) => state)
  expect(states('running')).toEqual(['ended', 'ended', 'ended', 'open', 'ahead'])
  expect(states('cancelled', phases.slice(0, 4))).toEqual(['ended', 'ended', 'ended', 'closed'])
})
