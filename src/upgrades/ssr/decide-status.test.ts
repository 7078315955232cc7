import { expect, test } from 'vitest'
import type { PartStatus } from '../../rollout/decide-whole-status.ts'
import { type UpgradeStatus, noCounts } from '../../rollout/rollout.ts'
import { decideStatus } from './decide-status.ts'

const site = (status: PartStatus, only: 'stage' | null = null, staged = 0) => ({
  status,
  only,
  counts: { ...noCounts, staged, upgraded: status === 'completed' && only === null ? 1 : 0 },
})

test.each<[PartStatus[], UpgradeStatus]>([
  [['queued'], 'queued'],
  [['queued', 'downloading'], 'downloading'],
  [['downloaded', 'downloading'], 'downloaded'],
  [['upgrading', 'completed'], 'upgrading'],
  [['queued', 'completed'], 'upgrading'],
  [['completed', 'completed'], 'completed'],
  [['completed', 'failed'], 'failed'],
  [['completed', 'cancelled'], 'cancelled'],
  [['completed', 'released'], 'completed'],
  [['released'], 'cancelled'],
])('sites that are %j make an upgrade that is %s', (statuses, status) => {
  expect(decideStatus(statuses.map((one) => site(one)))).toBe(status)
})

test('an upgrade that was to download only ends as downloaded, if any router did', () => {
  expect(decideStatus([site('completed', 'stage', 2)])).toBe('downloaded')
  expect(decideStatus([site('completed', 'stage', 0)])).toBe('completed')
  expect(decideStatus([site('completed', 'stage', 1), site('queued', 'stage')])).toBe('downloading')
})
