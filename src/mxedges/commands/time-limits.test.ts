import { expect, test } from 'vitest'
import {
  DOWNLOAD_LIMIT_MS,
  type StepLimits,
  applianceLimits,
  hookLimitsMs,
  LONGEST_SILENCE_MS,
  routerLimits,
  UPLOAD_LIMIT_MS,
} from './time-limits.ts'

const { control, installPackage, installFirmware, downloadDistro, upgradeDistro, support } = hookLimitsMs

/** The longest that an agent is silent about each command while it works. */
test.each([
  ['service.control', applianceLimits['service.control'].callMs, control],
  ['port.bounce', applianceLimits['port.bounce'].callMs, 2 * control],
  ['aps.disconnect', applianceLimits['aps.disconnect'].callMs, control],
  ['configure', applianceLimits.configure.callMs, control],
  ['service.upgrade', applianceLimits['service.upgrade'].installMs, installPackage],
  ['distro.stage', applianceLimits['distro.stage'].downloadMs, downloadDistro],
  ['distro.upgrade', applianceLimits['distro.upgrade'].installMs, upgradeDistro],
  ['support', applianceLimits.support.callMs, support + UPLOAD_LIMIT_MS],
  ['activate', routerLimits.activate.installMs, installFirmware + control],
  ['restart', routerLimits.restart.callMs, control],
])('the gateway waits longer for %s than the agent works on it, also behind one that was left running', (...row) => {
  const [, limitMs, workMs] = row
  expect(limitMs).toBeGreaterThan(2 * workMs)
})

test('reports of progress prolong a command only as long as an agent can need for it', () => {
  const limits: readonly StepLimits[] = [...Object.values(applianceLimits), ...Object.values(routerLimits)]
  for (const { callMs, downloadMs, installMs, longestMs } of limits)
    expect(longestMs).toBeGreaterThanOrEqual(callMs + Math.min(downloadMs, installMs))
  expect(applianceLimits.stage.longestMs).toBeGreaterThan(DOWNLOAD_LIMIT_MS)
  const { callMs, installMs, longestMs } = applianceLimits['service.upgrade']
  expect(longestMs).toBe(callMs + DOWNLOAD_LIMIT_MS + installMs)
})

test('a command is forgotten later than any other one is answered', () => {
  for (const { callMs, downloadMs, installMs } of Object.values(applianceLimits))
    expect(LONGEST_SILENCE_MS).toBeGreaterThan(Math.max(callMs, downloadMs, installMs))
})
