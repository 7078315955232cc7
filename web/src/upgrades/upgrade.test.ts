import { expect, it } from 'vitest'
import { type Target, type Upgrade, reasonOf, stopReasonOf } from './upgrade.ts'

const upgradeOf = (...parts: readonly object[]) => ({ upgrades: parts.map((upgrade) => ({ upgrade })) }) as Upgrade

it('ignores why other sites were stopped while the failed devices of one are retried', () => {
  const stopped = { status: 'failed', stop_reason: 'too many failures' }
  expect(stopReasonOf(upgradeOf(stopped, { status: 'upgrading' }), 'upgrading')).toBeNull()
  expect(stopReasonOf(upgradeOf(stopped, { status: 'completed' }), 'failed')).toBe('too many failures')
  const stops = { status: 'upgrading', stop_reason: 'cancelled' }
  expect(stopReasonOf(upgradeOf({ status: 'completed' }, stops), 'upgrading')).toBe('cancelled')
})

it('is not explained by a site that has lost its devices, if those of another one were upgraded', () => {
  const emptied = { status: 'cancelled', stop_reason: 'no device is left to upgrade; see the reason of each' }
  const upgrade = upgradeOf(emptied, { status: 'completed' })
  expect(stopReasonOf(upgrade, 'completed')).toBeNull()
  expect(stopReasonOf(upgrade, 'cancelled')).toBe(emptied.stop_reason)
})

it('is not stopped where only a part of it stops', () => {
  const stops = { status: 'upgrading', stop_reason: 'cancelled by Ada' }
  expect(stopReasonOf(upgradeOf(stops, { status: 'upgrading' }), 'upgrading')).toBeNull()
  expect(stopReasonOf(upgradeOf(stops, stops), 'upgrading')).toBe('cancelled by Ada')
})

it('says that a device is being restored, or why it was', () => {
  const target = { mac: '5c5b35000001', site_id: 'site', status: 'reboot_in_progress', reason: 'unstable' } as Target
  expect(reasonOf(target)).toBe('unstable')
  expect(reasonOf({ ...target, restoring: true })).toBe('unstable: is being restored')
  expect(reasonOf({ ...target, reason: 'rolled_back', restore_reason: 'unstable' })).toBe('unstable: rolled_back')
})
