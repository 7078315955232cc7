import { expect, test } from 'vitest'
import { at, command, planned, updated } from '../../../../test/support/fleets/targets.ts'
import type { CommandNow, DeviceNow } from '../target.ts'
import { hasRebooted } from './has-rebooted.ts'

const now = { now: at(200) }

test.each<[string, number | null, Partial<CommandNow> | null, Partial<DeviceNow>, boolean]>([
  ['booted after the command', 3, {}, {}, true],
  ['booted when it was sent', 3, { sentAt: at(100) }, {}, true],
  ['booted before it was sent', 3, { sentAt: at(101) }, {}, false],
  ['booted by a clock that was set back since', 3, { sentAt: at(201) }, {}, true],
  ['has not booted', 4, {}, {}, false],
  ['has booted before anybody counted', null, {}, {}, false],
  ['booted at an unknown time', 3, { sentAt: at(101) }, { bootedAt: null }, true],
  ['booted, and the command was not sent', 3, { sentAt: null }, {}, true],
  ['booted without a command', 3, null, {}, true],
])('a device that %s', (...[, bootCount, sent, device, expected]) => {
  const target = { ...planned, bootCount, command: sent && command('sent', sent) }
  expect(hasRebooted(target, { ...updated, ...device }, now)).toBe(expected)
})
