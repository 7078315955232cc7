import { expect, test } from 'vitest'
import { progressOf } from './fwupdate.ts'

test.each([
  ['idle', 50, 0],
  ['fail', 50, 0],
  ['download', null, 5],
  ['download', 0, 5],
  ['download', 40, 31],
  ['download', 100, 70],
  ['install', null, 70],
  ['install', 50, 80],
  ['success', null, 90],
] as const)('%s at %s percent is %i percent of the update', (operation, percent, progress) => {
  expect(progressOf({ operation, percent })).toBe(progress)
})
