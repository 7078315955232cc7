import { expect, it } from 'vitest'
import { createStrayLeases } from './stray-leases.ts'

it('releases leases once they may be stray, and not while others are given', async () => {
  let releases = 0
  const stray = createStrayLeases(async () => void (releases += 1))
  await stray.release()
  expect([releases, stray.mayExist()]).toEqual([0, false])
  stray.note()
  expect(stray.beginGiving()).toBe(true)
  await stray.release()
  expect([releases, stray.mayExist()]).toEqual([0, true])
  stray.endGiving()
  await stray.release()
  expect([releases, stray.mayExist()]).toEqual([1, false])
})

it('lets no leases be given while stray ones are released, which may become stray once more', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stray = createStrayLeases(() => promise)
  stray.note()
  const released = stray.release()
  expect([stray.beginGiving(), stray.areGiven()]).toEqual([false, false])
  stray.note()
  resolve()
  await released
  expect([stray.beginGiving(), stray.areGiven(), stray.mayExist()]).toEqual([true, true, true])
})

it('may still have stray leases if their release fails', async () => {
  const stray = createStrayLeases(async () => {
    throw new Error('refused')
  })
  stray.note()
  await expect(stray.release()).rejects.toThrow('refused')
  expect([stray.mayExist(), stray.beginGiving()]).toEqual([true, true])
})
