import { expect, test } from 'vitest'
import { isChangedFrom, noteTaken } from './plan-takeover.ts'

test.each([
  ['gets', '2.0', '1.0', true],
  ['gets', '2.0', '2.0', false],
  ['loses', '2.0', '2.0', true],
  ['loses', '2.0', '1.0', false],
] as const)('a device that %s %s and runs %s is to have another version: %s', (kind, version, running, changed) => {
  expect(isChangedFrom(running, { kind, version })).toBe(changed)
})

test('the record says how many devices an upgrade takes from which others, in one order', () => {
  const of = (orgUpgradeId: string, upgradeName: string | null = null) => ({ orgUpgradeId, upgradeName })
  const reasons = noteTaken([of('8e'), of('7f', 'Spring'), of('8e')]).map(({ reason }) => reason)
  expect(reasons).toEqual([
    '1 device is taken over from upgrade "Spring" (7f)',
    '2 devices are taken over from upgrade 8e',
  ])
  expect(noteTaken([of('8e'), of('7f')]).map(({ reason }) => reason.slice(-2))).toEqual(['7f', '8e'])
  const appliance = '1 edge appliance is taken over from upgrade 7f'
  expect(noteTaken([of('7f')], 'edge appliance')).toEqual([{ reason: appliance }])
})
