import { expect, test } from 'vitest'
import { type PartStatus, decideWholeStatus } from './decide-whole-status.ts'

test.each<[boolean, PartStatus[], boolean, string]>([
  [true, ['queued'], false, 'queued'],
  [true, ['queued', 'downloading'], false, 'running'],
  [true, ['upgrading'], false, 'running'],
  // One site had nothing to do, or lost its devices to another upgrade.
  [true, ['queued', 'completed'], false, 'queued'],
  [true, ['queued', 'cancelled'], false, 'queued'],
  [true, ['queued', 'completed'], true, 'running'],
  [true, ['queued', 'failed'], true, 'running'],
  [false, ['completed', 'cancelled', 'failed'], true, 'failed'],
  [false, ['completed', 'cancelled'], true, 'cancelled'],
  [true, ['queued', 'released'], false, 'queued'],
  // A site has lost all its devices: the others decide, if they have results.
  [false, ['completed', 'released'], true, 'completed'],
  [false, ['completed', 'released'], false, 'cancelled'],
  [false, ['released'], false, 'cancelled'],
  [false, ['completed', 'released', 'cancelled'], true, 'cancelled'],
  [false, ['failed', 'released'], true, 'failed'],
  [false, ['completed'], false, 'completed'],
  [false, [], false, 'completed'],
])('an upgrade that runs: %s, at sites that are %j, with results: %s, is %s', (runs, statuses, hasResults, status) => {
  expect(decideWholeStatus({ runs, statuses, hasResults })).toBe(status)
})
