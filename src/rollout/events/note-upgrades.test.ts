import { expect, test } from 'vitest'
import { isToldLive } from './note-upgrades.ts'
import type { UpgradeHold } from '../rollout.ts'

const hold: UpgradeHold = { by: 'gate', reason: 'why', since_s: 1, since_ms: 1000 }
const upgrade = { status: 'downloading', hold, stopReason: null, currentPhase: 1, waitsUntil: new Date(5) } as const

function told(change: object, steps: readonly object[] = []): boolean {
  const siteUpgrade = { ...structuredClone(upgrade), ...change }
  return isToldLive({ siteUpgrade: upgrade, decision: { steps, siteUpgrade } } as unknown as Parameters<
    typeof isToldLive
  >[0])
}

test('a round is reported if a device took a step, or a field of the upgrade changed that watchers see', () => {
  expect(told({})).toBe(false)
  expect(told({}, [{}])).toBe(true)
  for (const change of [
    { status: 'upgrading' },
    { hold: null },
    { stopReason: 'why' },
    { currentPhase: 2 },
    { waitsUntil: null },
  ])
    expect(told(change)).toBe(true)
  expect(told({ dueMs: 17 })).toBe(false)
})
