import { expect, test } from 'vitest'
import type { TargetState } from '../rollout.ts'
import { INSTALLS, exclusionReason, findExclusionRefusal, isReleasable } from './plan-exclusion.ts'

test.each<[TargetState, string | null]>([
  ['planned', null],
  ['deferred', null],
  ['dl_requested', null],
  ['downloading', null],
  ['downloaded', null],
  ['reboot_requested', null],
  ['rebooting', INSTALLS],
  ['verifying', 'has restarted with the version'],
  ['snapshotting', 'has restarted with the version'],
  ['rolling_back', 'is being restored'],
  ['upgraded', 'has ended in this upgrade'],
  ['staged', 'has ended in this upgrade'],
  ['failed', 'has ended in this upgrade'],
  ['skipped', 'has ended in this upgrade'],
  ['cancelled', 'has ended in this upgrade'],
])('a device in the state %s can be excluded, or: %s', (state, refusal) => {
  expect(isReleasable(state) ? null : findExclusionRefusal(state)).toBe(refusal)
})

test('the reason of an exclusion names the person, and why', () => {
  expect(exclusionReason('Ada', null)).toBe('excluded by Ada')
  expect(exclusionReason('Ada', 'is broken')).toBe('excluded by Ada: is broken')
})
