import { expect, it } from 'vitest'
import { timelineOf } from './timeline.ts'

const phase = { total: 2, upgraded: 2, failed: 0, under_way: 0, cancelled: 0 }
const created = { type: 'UPGRADE_CREATED', timestamp: 1, name: 'Ada' } as const
const upgrade = { decisions: [created], downloads: [], status: 'upgrading' as const }

const wordsOf = (...args: Parameters<typeof timelineOf>) =>
  timelineOf(...args).map(({ what, detail }) => [what, detail])

it('lists the phases and the end of an upgrade in which nobody decided anything', () => {
  const phases = [
    { ...phase, phase: 1, opened_at: 1, ended_at: 5 },
    { ...phase, phase: 2, opened_at: 5, ended_at: 9, upgraded: 1, failed: 1 },
    { ...phase, phase: 3, upgraded: 0, ended_at: 9, cancelled: 2 },
    { ...phase, phase: 4, total: 0, upgraded: 0, ended_at: 9 },
  ]
  expect(wordsOf({ ...upgrade, phases, status: 'completed', ended_at: 9 })).toEqual([
    ['Completed', ''],
    ['Phase ended · phase 2', '1 of 2 upgraded, 1 failed'],
    ['Phase opened · phase 2', ''],
    ['Phase ended · phase 1', '2 of 2 upgraded'],
    ['Phase opened · phase 1', ''],
    ['Created', 'by Ada'],
  ])
})

it('lists a decision about a phase after its end, and nothing that has not happened', () => {
  const held = {
    type: 'UPGRADE_HELD',
    timestamp: 5,
    name: 'rollout',
    phase: 1,
    reason: 'waits for an approval',
  } as const
  const phases = [
    { ...phase, phase: 1, opened_at: 1, ended_at: 5 },
    { ...phase, phase: 2, upgraded: 0 },
  ]
  expect(wordsOf({ ...upgrade, decisions: [created, held], phases }).slice(0, 2)).toEqual([
    ['Held · phase 1', 'waits for an approval'],
    ['Phase ended · phase 1', '2 of 2 upgraded'],
  ])
})

it('lists no phase whose devices failed before it opened, and those that a retry went through', () => {
  const phases = [
    { ...phase, phase: 1, opened_at: 1, ended_at: 5 },
    { ...phase, phase: 2, upgraded: 0, failed: 2, ended_at: 3 },
    { ...phase, phase: 3, ended_at: 8 },
    { ...phase, phase: 4, upgraded: 0, failed: 2, ended_at: 2 },
  ]
  const endsOf = (some: typeof phases) => wordsOf({ ...upgrade, phases: some }).map(([what]) => what)
  expect(endsOf(phases.slice(0, 2))).toEqual(['Phase ended · phase 1', 'Phase opened · phase 1', 'Created'])
  expect(endsOf(phases)[0]).toBe('Phase ended · phase 3')
  expect(endsOf(phases)).not.toContain('Phase ended · phase 4')
  // Phases of one device each open without an event.
  const last = { ...phase, phase: 4, total: 1, upgraded: 0, failed: 1, ended_at: 12 }
  expect(endsOf([...phases.slice(0, 3), last])[0]).toBe('Phase ended · phase 4')
})

it('lists the download phases that have opened', () => {
  const downloads = [
    { phase: 1, total: 2, downloaded: 1, failed: 1, opened_at: 2 },
    { phase: 2, total: 2, downloaded: 0, failed: 0 },
  ]
  expect(wordsOf({ ...upgrade, phases: [], downloads })[0]).toEqual(['Downloads opened · phase 1', ''])
})
