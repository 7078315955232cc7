import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { causeText } from './cause-text.ts'

test('causes of the engine have words, and those of devices are shown as they are', () => {
  expect(causeText('not_applied')).toBe('still runs the previous version')
  expect(causeText('no space left on device')).toBe('no space left on device')
})

test.each([
  ['upgrades', /or one of these:\n\n(.*?)\n\n/s],
  ['upgrades', /has not taken the recovery snapshot(.*?)\n\n/s],
  ['edge-appliances', /fails with one of these reasons(.*?)\n\n\*\*/s],
])('each reason that the manual of %s names has words (%s)', (name, place) => {
  const manual = readFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url), 'utf8')
  const [, list = ''] = place.exec(manual) ?? []
  const codes = list.matchAll(/`([a-z_]+)`/g).map(([, code = '']) => code)
  // The first is a field beside the reason, and the second is a word already.
  const reasons = [...codes].filter((code) => code !== 'restore_reason' && code !== 'offline')
  expect(reasons.length).toBeGreaterThan(1)
  expect(reasons.filter((code) => causeText(code) === code)).toEqual([])
})

test("causes between the service's own words have words too", () => {
  expect(causeText('The attempt ended: connection_lost')).toBe('The attempt ended: lost the connection')
  expect(causeText('Attempt 2: timeout')).toBe('Attempt 2: did not answer in time')
  expect(causeText('health_uplink: returns to its backup version')).toBe(
    'lacks an uplink after the restart: returns to its backup version',
  )
})

test('the cause of a restore stands before what came of it', () => {
  expect(causeText('unstable: rolled_back')).toBe('did not stay connected: returned to the previous version')
  expect(causeText('unstable: is being restored')).toBe('did not stay connected: is being restored')
  expect(causeText('unstable: rolled_back_unstable')).toBe(
    'did not stay connected: returned to the previous version, and did not stay connected',
  )
  expect(causeText('health_radio: rollback_failed')).toBe(
    'lacks a radio after the restart: did not return to the previous version',
  )
})

test('the times of a cause are on one clock', () => {
  expect(causeText('ended at its end_time, 2025-12-01T02:00:00.000Z', 'Asia/Tokyo')).toBe(
    'ended at its end_time, 01 Dec 2025, 11:00:00 GMT+9',
  )
})

test.each(['ERROR: no space: 3 MB missing', 'download failed: timeout', 'refused: 5', 'Attempt 2: offline: no\nroute'])(
  'the words of a device stay: %j',
  (cause) => {
    expect(causeText(cause)).toBe(cause)
  },
)
