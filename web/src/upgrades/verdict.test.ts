import { expect, it } from 'vitest'
import type { Hold, Report } from './upgrade.ts'
import { capital } from '../display/texts/capital.ts'
import { localText } from '../display/times/local-text.ts'
import {
  actionsOf,
  awaitedText,
  budgetText,
  heldGateOf,
  heldPhaseOf,
  nextPhaseText,
  offlineText,
  openPhaseOf,
  phaseAfter,
  stopWaitingEffect,
  verdictOf,
} from './verdict.ts'

const phases = [
  { phase: 1, total: 1, upgraded: 1, failed: 0, under_way: 0, cancelled: 0, opened_at: 10, ended_at: 20 },
  { phase: 2, total: 9, upgraded: 2, failed: 1, under_way: 0, cancelled: 0, opened_at: 20 },
  { phase: 3, total: 90, upgraded: 0, failed: 0, under_way: 0, cancelled: 0 },
]

function reportOf(changes: Partial<Report>): Report {
  const counts = { total: 100, upgraded: 3, failed: 1, skipped: 0, stops_after_failures: null }
  const report: Partial<Report> = { status: 'running', ...counts, phases, ...changes }
  return report as Report
}

const holdBy = (by: Hold['by']): Hold => ({ by, reason: 'too many failures', timestamp: 30 })

it.each([
  [reportOf({}), null, 'Phase 2 of 3: 3 of 100 upgraded, 1 failed'],
  [
    reportOf({ stops_after_failures: 6 }),
    null,
    'Phase 2 of 3: 3 of 100 upgraded, 1 of 5 tolerated failures, stops at 6',
  ],
  [
    reportOf({ total: 5000, upgraded: 1200, failed: 1300, stops_after_failures: 1501 }),
    null,
    'Phase 2 of 3: 1,200 of 5,000 upgraded, 1,300 of 1,500 tolerated failures, stops at 1,501',
  ],
  [reportOf({ failed: 0 }), holdBy('user'), 'Paused in phase 2 of 3: 3 of 100 upgraded'],
  [reportOf({}), holdBy('gate'), 'Waits in phase 2 of 3: 3 of 100 upgraded, 1 failed'],
  [reportOf({ phases: phases.slice(2), upgraded: 0, failed: 0 }), null, 'Not begun: 0 of 100 upgraded'],
  [
    reportOf({ phases: phases.slice(2), upgraded: 0, failed: 0 }),
    { ...holdBy('approval'), phase: 0 as const },
    'Waits before its start: 0 of 100 upgraded',
  ],
])('says how it stands', (report, hold, verdict) => {
  expect(verdictOf({ report, hold, stopReason: null })).toBe(verdict)
})

it('has the times of a stop on the clock of the viewer, or in a zone', () => {
  const stopReason = 'ended at its end_time, 2025-12-01T02:00:00.000Z'
  expect(verdictOf({ report: reportOf({}), hold: null, stopReason })).toContain(`. ${localText(capital(stopReason))}`)
  expect(localText(stopReason)).not.toContain('Z')
  expect(verdictOf({ report: reportOf({}), hold: null, stopReason }, 'Asia/Tokyo')).toContain('11:00:00 GMT+9')
})

it('names the phase of the downloads at one of their gates', () => {
  const downloads = [
    { phase: 1, total: 10, downloaded: 10, failed: 0, opened_at: 10 },
    { phase: 2, total: 90, downloaded: 0, failed: 0 },
  ]
  const report = reportOf({ phases: phases.slice(2), downloads, upgraded: 0, failed: 0 })
  const hold: Hold = { ...holdBy('approval'), phase_of: 'downloads' }
  expect(verdictOf({ report, hold, stopReason: null })).toBe('Waits in download phase 1 of 2: 0 of 100 upgraded')
  expect(heldPhaseOf(report, hold)).toEqual({ phases: downloads, phase: 1, words: 'download phase' })
  expect(nextPhaseText(heldPhaseOf(report, hold))).toBe('Download phase 2')
  expect(nextPhaseText(heldPhaseOf(report, holdBy('time')))).toBe('Phase 3')
  expect(heldPhaseOf(report, holdBy('approval'))).toMatchObject({ phase: 1, words: 'phase' })
})

it('knows the gate that is waited at', () => {
  const gates = ['approval', 'pause', 'time'].map((wait_for) => ({ wait_for })) as readonly Report['start_gate'][]
  const [first, open, start] = gates
  const downloads = [{ phase: 1, total: 1, downloaded: 1, failed: 0, opened_at: 10, gate: first }]
  const gated = { downloads, phases: [phases[0], { ...phases[1], gate: open }], start_gate: start } as Report
  expect(heldGateOf(gated, holdBy('approval'))).toBe(open)
  expect(heldGateOf(gated, { ...holdBy('approval'), phase: 0 })).toBe(start)
  expect(heldGateOf(gated, { ...holdBy('approval'), phase_of: 'downloads' })).toBe(first)
})

it('keeps the numbers of phases where others have no devices', () => {
  const [first, second, third] = phases
  const gap = [first, { ...second, phase: 4 }, { ...third, phase: 9 }] as typeof phases
  const report = reportOf({ phases: gap, failed: 0 })
  expect(verdictOf({ report, hold: null, stopReason: null })).toBe('Phase 4 of 9: 3 of 100 upgraded')
  expect(verdictOf({ report, hold: holdBy('user'), stopReason: null })).toContain('Paused in phase 4 of 9')
  expect(nextPhaseText(heldPhaseOf(report, holdBy('time')))).toBe('Phase 9')
  expect(phaseAfter(gap, 1)).toMatchObject({ phase: 4, total: 9 })
  expect(phaseAfter(gap, 9)).toBeUndefined()
})

it('counts devices that ran the version already', () => {
  const report = reportOf({ status: 'completed', total: 2, upgraded: 0, failed: 0, skipped: 2 })
  expect(verdictOf({ report, hold: null, stopReason: null })).toBe('0 of 2 upgraded, 2 skipped')
})

it('says why it was stopped', () => {
  const report = reportOf({ status: 'failed' })
  expect(verdictOf({ report, hold: null, stopReason: 'More than 5 % failed' })).toBe(
    '3 of 100 upgraded, 1 failed. More than 5 % failed',
  )
})

it('says how many more failures are tolerated', () => {
  expect(budgetText({ failed: 0, stops_after_failures: 1 })).toBe('stops at the first failure')
  expect(budgetText({ failed: 1, stops_after_failures: 1 })).toBe('1 failed')
  expect(budgetText({ failed: 2, stops_after_failures: null })).toBe('2 failed, and no number of failures stops it')
})

it('offers what makes sense', () => {
  const running = { status: 'running', failed: 1, awaited: 0, hold: null, stopReason: null } as const
  const [paused, failed] = [{ ...running, hold: holdBy('user') }, { ...running, status: 'failed' } as const]
  expect(actionsOf(running)).toEqual(['pause', 'cancel'])
  expect(actionsOf(paused)).toEqual(['resume', 'cancel'])
  expect(actionsOf({ ...running, hold: holdBy('approval') })).toEqual(['approve', 'cancel'])
  expect(actionsOf({ ...running, hold: holdBy('approval'), isBarred: true })).toEqual(['cancel'])
  expect(actionsOf(failed)).toEqual(['retry'])
  expect(actionsOf({ ...failed, endTime: 4_000_000_000 })).toEqual(['retry'])
  expect(actionsOf({ ...failed, endTime: 1_000_000_000 })).toEqual([])
  expect(actionsOf({ ...running, status: 'completed', failed: 0 })).toEqual([])
})

it('offers to stop waiting for devices of other upgrades once it has ended', () => {
  const running = { status: 'running', failed: 1, awaited: 2, hold: null, stopReason: null } as const
  const ended = { ...running, status: 'completed' } as const
  expect(actionsOf(running)).toEqual(['pause', 'cancel'])
  expect(actionsOf(ended)).toEqual(['retry', 'stopWaiting'])
  expect([0, 1, 2].map((awaited) => awaitedText(awaited, 'device'))).toEqual([
    null,
    'This upgrade awaits 1 device that is in another upgrade. It looks at each once the other upgrade has ended with it.',
    'This upgrade awaits 2 devices that are in other upgrades. It looks at each once the other upgrade has ended with it.',
  ])
  expect(stopWaitingEffect(2, 'router')).toBe(
    'This upgrade no longer takes in the 2 routers that are in other upgrades, nor any other router. This cannot be undone.',
  )
})

it('says for how many devices that are offline an upgrade waits', () => {
  expect([{}, { offline: 1 }, { offline: 2 }].map((counts) => offlineText(counts, 'router'))).toEqual([
    null,
    'This upgrade waits for 1 router that is offline.',
    'This upgrade waits for 2 routers that are offline.',
  ])
})

it('offers nothing while it is being stopped and devices still restart', () => {
  const stopping = {
    report: reportOf({ stops_after_failures: 6 }),
    hold: null,
    stopReason: 'cancelled by a@example.com',
  }
  expect(verdictOf(stopping)).toBe('3 of 100 upgraded, 1 failed. Cancelled by a@example.com')
  const standing = { status: 'running', failed: 1, awaited: 2, hold: null, stopReason: stopping.stopReason } as const
  expect(actionsOf(standing)).toEqual([])
})

it('knows the open phase', () => {
  expect(openPhaseOf({ phases })).toBe(2)
  expect(openPhaseOf({ phases: [] })).toBeNull()
  const ended = { total: 1, upgraded: 1, failed: 0, ended_at: 30 }
  const ahead = { phase: 3, total: 90, upgraded: 0, failed: 0, under_way: 0, cancelled: 0 }
  expect(openPhaseOf({ phases: [{ ...ended, phase: 1, opened_at: 10 }, { ...ended, phase: 2 }, ahead] })).toBe(3)
  const gate = { wait_for: 'pause', passed: false } as const
  expect(
    openPhaseOf({
      phases: [
        { ...ended, phase: 1, opened_at: 10, gate },
        { ...ahead, phase: 2 },
      ],
    }),
  ).toBe(1)
})
