import { expect, test } from 'vitest'
import { catalogEntry } from '../../test/support/fleets/candidates.ts'
import { findTooLow } from './lowest-version.ts'

const newest = catalogEntry('3.0', { minVersion: '2.9' })
const older = [catalogEntry('2.10', { reported: ['build 77'] }), catalogEntry('2.1', { reported: ['build 12'] })]
const catalog = [...older, newest]

test.each<[string | null, readonly string[], string | null]>([
  ['2.10', [], null],
  ['2.9', [], null],
  // The version of the string counts, which only the catalog knows.
  ['build 77', [], null],
  ['build 12', [], 'runs 2.1, but'],
  ['2.8.9', [], 'runs 2.8.9, but'],
  ['2.10', ['2.10', '2.1'], 'runs 2.1, but'],
  ['OpenWrt 2.10', [], "runs OpenWrt 2.10, which can't be compared"],
  [null, [], 'has never reported its version'],
])('a device that runs %s, and its members %j: %s', (fromVersion, memberVersions, reason) => {
  const found = findTooLow({ fromVersion, memberVersions }, newest, catalog)
  expect(found).toEqual(reason === null ? null : expect.stringContaining(reason))
  if (reason !== null) expect(found).toContain('3.0 can only be installed from 2.9 or a later version')
})

test('a version without a lowest one can be installed from any', () => {
  expect(findTooLow({ fromVersion: null, memberVersions: [] }, catalogEntry('3.0'), catalog)).toBeNull()
})
