import { expect, test } from 'vitest'
import type { UpgradeHold } from '../rollout.ts'
import { pauseBy, pauseOver } from './approvals.ts'

const actor = { adminId: null, name: 'CI (before: noon)', srcIp: null, userAgent: null }
const pause = pauseBy(actor, { now: new Date(5000), nowMs: 5000 })
const wait = (reason: string): UpgradeHold => ({ by: 'approval', reason, since_s: 1, since_ms: 1000 })

test('a pause has the reason of the wait whose place it takes, and returns to its own without one', () => {
  const [first, second] = ['its start waits for an approval', 'its start waits for 2 of 2 approvals'].map(wait)
  const over = pauseOver(pause, first ?? null)
  expect(over).toMatchObject({
    by: 'user',
    reason: 'paused by CI (before: noon) (before: its start waits for an approval)',
    since_ms: 1000,
  })
  const reason = 'paused by CI (before: noon) (before: its start waits for 2 of 2 approvals)'
  expect(pauseOver(over, second ?? null).reason).toBe(reason)
  expect(pauseOver(over, null)).toEqual({ ...pause, since_ms: 1000 })
  expect(pauseOver(pause, null)).toEqual(pause)
})
