import { expect, it } from 'vitest'
import { decide, downloaded, move, ms, planned, staging } from '../../../../test/support/fleets/targets.ts'
import { defaultRolloutOptions } from '../../rollout.ts'
import type { TargetNow } from '../target.ts'

const DAYS_14 = defaultRolloutOptions.downloadedDeadlineMs / 1000
const waiting: TargetNow = { ...downloaded, enteredMs: ms(100) }
const blocked = { rebootMs: Infinity, openedMs: ms(0) }

it('a device that has downloaded is cancelled where it did not get to reboot within 14 days', () => {
  expect(decide(waiting, 99 + DAYS_14, blocked)).toEqual({ kind: 'wait', untilMs: Infinity })
  expect(decide(waiting, 100 + DAYS_14, blocked)).toEqual(move('cancelled', 'not_rebooted'))
})

it('the 14 days begin when it may reboot, and do not end while the upgrade is paused', () => {
  expect(decide(waiting, 100 + DAYS_14, { ...blocked, openedMs: ms(101) })).not.toMatchObject({ kind: 'move' })
  expect(decide(waiting, 100 + DAYS_14, { ...blocked, openedMs: null })).not.toMatchObject({ kind: 'move' })
  expect(decide(waiting, 100 + DAYS_14, { ...blocked, held: true })).toEqual({ kind: 'wait' })
})

it('a device without its image is not cancelled for that', () => {
  expect(decide({ ...planned, device: staging }, 100 + DAYS_14, blocked)).not.toMatchObject({ to: 'cancelled' })
})
