import { describe, expect, test } from 'vitest'
import { planned } from '../../../test/support/fleets/targets.ts'
import { LEFT_SITE, OFFLINE, REMOVED, REPLACED, type TargetState, noCounts } from '../rollout.ts'
import { statusOf } from './decide-outcome.ts'
import { beginsSnapshot, countReleased, isHardFailure, isSuccess, stepOf } from './decide-step.ts'

const step = (to: TargetState, reason: string | null = null, from: TargetState = 'verifying') => ({
  target: { ...planned, state: from },
  to,
  reason,
})

describe('a target that is cancelled', () => {
  test.each([
    [null, 1, 0],
    ['excluded', 1, 0],
    [REMOVED, 1, 1],
    [REPLACED, 1, 1],
    [LEFT_SITE, 1, 1],
  ])('with the reason %s is released: %i; by a stop: %i', (reason, released, stopped) => {
    const steps = [step('cancelled', reason), step('failed', reason), step('skipped', reason)]
    expect([countReleased(steps, false), countReleased(steps, true)]).toEqual([released, stopped])
  })
})

test.each<[TargetState, TargetState, string | null, boolean]>([
  ['verifying', 'failed', 'unstable', true],
  ['verifying', 'failed', null, true],
  ['deferred', 'failed', OFFLINE, false],
  ['verifying', 'rolling_back', 'unstable', true],
  ['rolling_back', 'failed', 'rolled_back', false],
  ['rolling_back', 'rolling_back', null, false],
  ['planned', 'cancelled', 'removed', false],
  ['verifying', 'upgraded', null, false],
])('from %s to %s (%s) is a failure that counts: %s', (from, to, reason, counts) => {
  expect(isHardFailure(step(to, reason, from))).toBe(counts)
})

test('a device has done what was requested if it was upgraded, or has downloaded where it only had to', () => {
  const all = ['upgraded', 'staged', 'skipped', 'downloaded', 'failed'] as const
  expect(all.filter((to) => isSuccess({ to }))).toEqual(['upgraded', 'staged'])
})

test('a snapshot begins once', () => {
  expect(beginsSnapshot(step('snapshotting'))).toBe(true)
  expect(beginsSnapshot(step('snapshotting', null, 'snapshotting'))).toBe(false)
  expect(beginsSnapshot(step('upgraded'))).toBe(false)
})

describe('a move', () => {
  const hop = { version: '3.0', image_id: 'i', reported: [] }
  test('to the same state is no step, unless it is one to the next version', () => {
    expect(stepOf(planned, { kind: 'move', to: 'planned' })).toBeNull()
    expect(stepOf(planned, { kind: 'move', to: 'planned', hop })).toMatchObject({ to: 'planned', hop })
  })

  test('keeps whether the image is there, unless it says otherwise', () => {
    const stagedBy = (staged: boolean, to: TargetState, more: { readonly staged?: boolean } = {}) =>
      stepOf({ ...planned, staged }, { kind: 'move', to, ...more })?.staged
    expect([stagedBy(true, 'deferred'), stagedBy(false, 'deferred')]).toEqual([true, false])
    expect([stagedBy(true, 'deferred', { staged: false }), stagedBy(false, 'downloaded')]).toEqual([false, true])
  })
})

test.each<[TargetState, string]>([
  ['planned', 'queued'],
  ['deferred', 'queued'],
  ['dl_requested', 'downloading'],
  ['downloading', 'downloading'],
  ['downloaded', 'downloaded'],
  ['reboot_requested', 'upgrading'],
  ['rebooting', 'upgrading'],
  ['verifying', 'upgrading'],
  ['snapshotting', 'upgrading'],
  ['rolling_back', 'upgrading'],
  ['upgraded', 'upgrading'],
])('a target in the state %s makes its upgrade %s, which never goes back from a reboot', (state, status) => {
  const counts = { ...noCounts, failed: 1, [state]: 1 }
  expect(statusOf('queued', counts)).toBe(status)
  expect(statusOf('upgrading', counts)).toBe('upgrading')
})
