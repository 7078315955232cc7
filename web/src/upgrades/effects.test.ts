import { expect, it } from 'vitest'
import type { Hold } from './upgrade.ts'
import {
  approvalEffect,
  continueEffect,
  earliestText,
  pauseEffect,
  resumeEffect,
  retryEffect,
  sharedEffect,
  startEffect,
} from './effects.ts'

const holdBy = (by: Hold['by']): Hold => ({ by, reason: 'too many failures', timestamp: 30 })

it('says before a pause, a resume and a retry whom they concern', () => {
  const paused =
    'No further commands are sent to the 2 routers still to be upgraded, until somebody resumes the upgrade.'
  expect(pauseEffect('2 routers', null)).toBe(paused)
  expect(pauseEffect('2 routers', '1 rebooting router finishes.')).toBe(`${paused} 1 rebooting router finishes.`)
  expect(resumeEffect('2 routers', holdBy('user'))).toBe(
    'The upgrade continues with the 2 routers still to be upgraded.',
  )
  expect(resumeEffect('2 routers', holdBy('gate'))).toBe(
    'The upgrade waits: too many failures. Resuming opens the next phase all the same, for up to 2 routers.',
  )
  const until = { ...holdBy('time'), reason: 'phase 1 ended and waits until 2025-12-01T02:00:00.000Z' }
  expect(resumeEffect('2 routers', until)).toMatch(/waits until \d\d \w+ 2025, [^Z]+ \S+\. Resuming/)
  expect(retryEffect(1, 'router')).toBe('Upgrades and restarts the 1 failed router again.')
})

it('says before an approval how many devices of the phase failed', () => {
  const held = { phases: [1, 2].map((phase) => ({ phase, total: 2000, failed: 2 - phase })), words: 'phase' } as const
  expect(approvalEffect({ ...held, phase: 1 }, 10)).toBe(
    '1 of the 2,000 devices of phase 1 failed. Opens the next phase: 2,000 devices.',
  )
  const [first, last] = held.phases
  const gap = {
    ...held,
    phases: [
      { ...first, total: 1, failed: 0 },
      { ...last, phase: 4, total: 3 },
    ],
  } as typeof held
  expect(approvalEffect({ ...gap, phase: 1 }, 10)).toBe('Opens the next phase: 3 devices.')
  expect(approvalEffect({ ...held, phase: 2 }, 10)).toBe('Opens the next phase: 10 devices.')
})

it('says that no decision at a gate opens the next phase before its time', () => {
  const gate = { wait_for: 'approval', passed: false, not_before: 4_000_000_000 } as const
  const phases = [1, 2].map((phase) => ({ phase, total: 2, failed: 0, gate }))
  const earliest = expect.stringMatching(/2 devices, on 0[23] Oct 2096, .+ at the earliest\.$/)
  expect(approvalEffect({ phases, phase: 1, words: 'phase' }, 10)).toEqual(earliest)
  expect(approvalEffect({ phases, phase: 1, words: 'phase' }, 10, 'Asia/Tokyo')).toContain('16:06:40 GMT+9')
  expect(resumeEffect('2 devices', holdBy('gate'), gate)).toEqual(earliest)
  // A resume during the wait for the time ends it.
  expect(resumeEffect('2 devices', holdBy('time'), gate)).toMatch(/2 devices\.$/)
  expect(resumeEffect('2 devices', holdBy('gate'), gate, 'Asia/Tokyo')).toMatch(
    /2 devices, on 02 Oct 2096, 16:06:40 GMT\+9 at/,
  )
  expect(earliestText({ not_before: 30 })).toBe('')
})

it('says before the approval of the start what begins', () => {
  const first = { phase: 1, total: 1, upgraded: 1, failed: 0, under_way: 0, cancelled: 0 }
  expect(startEffect({ phases: [first] }, 100, 'router')).toBe(
    'Lets the upgrade begin, at each site from its start time on. The first phase has 1 router of 100.',
  )
})

it('says before an approval when an upgrade continues with how many', () => {
  const gate = { not_before: 4_000_000_000 }
  const text = 'The upgrade waits: too many failures. It continues with up to 2 appliances'
  expect(continueEffect('2 appliances', holdBy('approval'), undefined)).toBe(`${text}.`)
  expect(continueEffect('2 appliances', holdBy('approval'), gate, 'Asia/Tokyo')).toBe(
    `${text}, on 02 Oct 2096, 16:06:40 GMT+9 at the earliest.`,
  )
  expect(continueEffect('2 appliances', { ...holdBy('approval'), approvals_missing: 2 }, undefined)).toBe(
    `Waits for 1 further approval by another person. Then: ${text}.`,
  )
})

it('says before an approval how many more it needs', () => {
  const missing = (approvals: number): Hold => ({ ...holdBy('approval'), approvals_missing: approvals })
  expect(sharedEffect('Opens.', holdBy('approval'))).toBe('Opens.')
  expect(sharedEffect('Opens.', missing(1))).toBe('Opens.')
  expect(sharedEffect('Opens.', missing(2))).toBe('Waits for 1 further approval by another person. Then: Opens.')
  expect(sharedEffect('Opens.', missing(3))).toBe('Waits for 2 further approvals by other people. Then: Opens.')
})

it('says what a retry leaves as it is', () => {
  expect(retryEffect(2, 'device')).toBe('Upgrades and restarts the 2 failed devices again.')
  expect(retryEffect(1, 'device', 1)).toBe(
    'Upgrades and restarts the 1 failed device again. 1 device that was not begun stays as it is.',
  )
  expect(retryEffect(1, 'router', 3)).toMatch(/ 3 routers that were not begun stay as they are\.$/)
})
