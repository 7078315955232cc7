import { expect, it } from 'vitest'
import { createLaneLease } from './lane-lease.ts'

function start() {
  let nowMs = 1000
  const lease = createLaneLease(() => nowMs)
  return { lease, pass: (ms: number) => (nowMs += ms) }
}

it('lets a lane start messages for three seconds after it was leased, or confirmed', () => {
  const { lease, pass } = start()
  pass(2999)
  expect(lease.isConfirmed()).toBe(true)
  pass(1)
  expect(lease.isConfirmed()).toBe(false)
  // The question was asked earlier.
  lease.confirm(pass(500) - 400, false)
  pass(2599)
  expect(lease.isConfirmed()).toBe(true)
  pass(1)
  expect(lease.isConfirmed()).toBe(false)
})

it('has a lane confirmed some time after the last confirmation, and no longer than its lease suffices', () => {
  const { lease, pass } = start()
  pass(1999)
  expect([lease.isToConfirm(500), lease.isToConfirm(2000)]).toEqual([true, false])
  lease.confirm(pass(1), false)
  expect([lease.isToConfirm(0), lease.isToConfirm(500)]).toEqual([true, false])
  pass(28_000)
  expect(lease.isToConfirm(2000)).toBe(true)
  pass(1)
  expect(lease.isToConfirm(2000)).toBe(false)
})

it('extends a lease that is more than ten seconds old, which lasts from then on', () => {
  const { lease, pass } = start()
  lease.confirm(pass(10_000), false)
  expect(lease.isToExtend()).toBe(false)
  lease.confirm(pass(1), true)
  expect(lease.isToExtend()).toBe(false)
  pass(10_001)
  expect([lease.isToExtend(), lease.isToConfirm(0)]).toEqual([true, true])
})
