import { expect, it } from 'vitest'
import { type Upgrade, stopReasonOf } from './upgrade.ts'

const upgradeOf = (...parts: readonly object[]) => ({ upgrades: parts.map((upgrade) => ({ upgrade })) }) as Upgrade

it('ignores why other sites were stopped while the failed devices of one are retried', () => {
  const stopped = { status: 'failed', stop_reason: 'too many failures' }
  expect(stopReasonOf(upgradeOf(stopped, { status: 'upgrading' }))).toBeNull()
  expect(stopReasonOf(upgradeOf(stopped, { status: 'completed' }))).toBe('too many failures')
  expect(stopReasonOf(upgradeOf({ status: 'completed' }, { status: 'upgrading', stop_reason: 'cancelled' }))).toBe(
    'cancelled',
  )
})
