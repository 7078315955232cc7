import { expect, it } from 'vitest'
import type { Report, Upgrade } from '../upgrade.ts'
import { failurePaceOf, windowsAheadOf } from './outlook.ts'

const NOW = 10_000
const minutesAgo = (minutes: number): number => NOW - 60 * minutes

const failedAt = (...times: readonly number[]): Report['devices'] => [
  ...times.map((at, index) => ({ mac: String(index), site_id: 's', status: 'failed' as const, ended_at: at })),
  { mac: 'a', site_id: 's', status: 'upgraded', ended_at: NOW },
]

it('says whether failures become more or fewer', () => {
  const devices = failedAt(minutesAgo(25), minutesAgo(15), minutesAgo(12), minutesAgo(3))
  expect(failurePaceOf({ status: 'running', devices }, 'device', NOW)).toEqual({
    text: '1 device failed in the last 10 minutes, and 2 in the 10 minutes before',
    lastAt: minutesAgo(3),
  })
})

it('says nothing of failures without any, and at the end', () => {
  expect(failurePaceOf({ status: 'running', devices: failedAt() }, 'device', NOW)).toBeNull()
  expect(failurePaceOf({ status: 'failed', devices: failedAt(minutesAgo(3)) }, 'device', NOW)).toBeNull()
})

const upgradeOf = (...times: readonly (number | undefined)[]) =>
  ({
    upgrades: times.map((at, index) => ({
      site_id: `site ${index}`,
      upgrade: at === undefined ? {} : { waits_until: at },
    })),
  }) as unknown as Upgrade
const goesOn = { hold: null, stopReason: null }

it('says which window opens first', () => {
  expect(windowsAheadOf(goesOn, upgradeOf(undefined, 300, 200))).toEqual({
    text: '2 sites wait for their maintenance windows; the first opens',
    firstSiteId: 'site 2',
    firstAt: 200,
  })
  expect(windowsAheadOf(goesOn, upgradeOf(undefined))).toBeNull()
})

it('says nothing of windows while an upgrade waits for a person, or stops', () => {
  const hold = { by: 'approval', reason: 'approval', timestamp: 1 } as const
  expect(windowsAheadOf({ ...goesOn, hold }, upgradeOf(300))).toBeNull()
  expect(windowsAheadOf({ ...goesOn, stopReason: 'Too many failures' }, upgradeOf(300))).toBeNull()
})
