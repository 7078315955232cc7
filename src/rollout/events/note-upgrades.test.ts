import { expect, test } from 'vitest'
import { isSeenByWatchers } from './note-upgrades.ts'
import type { UpgradeHold } from '../rollout.ts'

const hold: UpgradeHold = { by: 'gate', reason: 'why', since_s: 1, since_ms: 1000 }
const upgrade = { status: 'downloading', hold, stopReason: null, currentPhase: 1, waitsUntil: new Date(5) } as const

function isSeen(change: object, steps: readonly object[] = []): boolean {
  const siteUpgrade = { ...structuredClone(upgrade), ...change }
  return isSeenByWatchers({ siteUpgrade: upgrade, decision: { steps, siteUpgrade } } as unknown as Parameters<
    typeof isSeenByWatchers
  >[0])
}

test('a round is reported if a device took a step, or a field of the upgrade changed that watchers see', () => {
  expect(isSeen({})).toBe(false)
  expect(isSeen({}, [{}])).toBe(true)
  for (const change of [
    { status: 'upgrading' },
    { hold: null },
    { stopReason: 'why' },
    { currentPhase: 2 },
    { waitsUntil: null },
  ])
    expect(isSeen(change)).toBe(true)
  expect(isSeen({ dueMs: 17 })).toBe(false)
})
