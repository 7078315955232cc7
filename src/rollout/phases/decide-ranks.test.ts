import { expect, test } from 'vitest'
import { command, offline, online, planned } from '../../../test/support/fleets/targets.ts'
import type { TargetNow } from '../targets/target.ts'
import { findBlocked } from './decide-ranks.ts'

const first: TargetNow = { ...planned, rank: 1 }
const second: TargetNow = { ...planned, rank: 2 }
const loading = (kind: 'stage' | 'upgrade'): TargetNow => ({
  ...second,
  state: 'downloading',
  command: command('sent', { kind }),
})
const blocksFirst = (other: TargetNow): boolean => findBlocked([first, other])(first)
const blocksSecond = (other: TargetNow): boolean => findBlocked([other, second])(second)

test('a device waits for one of a higher rank that restarts or may, but not for one that only downloads', () => {
  expect(blocksFirst({ ...second, state: 'rebooting' })).toBe(true)
  expect(blocksFirst(loading('upgrade'))).toBe(true)
  expect(blocksFirst(loading('stage'))).toBe(false)
  expect(blocksFirst(second)).toBe(false)
})

test('a device waits for those of a lower rank that have not ended, absent ones apart', () => {
  expect(blocksSecond(first)).toBe(true)
  expect(blocksSecond({ ...first, state: 'downloaded' })).toBe(true)
  expect(blocksSecond({ ...first, state: 'deferred', device: online })).toBe(true)
  expect(blocksSecond({ ...first, state: 'deferred', device: offline })).toBe(false)
  expect(blocksSecond({ ...second, state: 'rebooting' })).toBe(false)
  expect(blocksSecond({ ...first, rank: null, state: 'rebooting' })).toBe(false)
})
