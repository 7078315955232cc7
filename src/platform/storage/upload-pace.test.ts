import { expect, it } from 'vitest'
import { createUploadPace } from './upload-pace.ts'

const MIB = 1024 * 1024

function setUp() {
  let nowMs = 0
  const sleeps: number[] = []
  const sleep = async (ms: number): Promise<void> => {
    sleeps.push(ms)
    nowMs += ms
  }
  const pace = createUploadPace({ now: () => nowMs, sleep })
  return { pace, sleeps, pass: (ms: number) => (nowMs += ms), now: () => nowMs }
}

it('lets 16 MiB pass immediately, and then 32 MiB per second', async () => {
  const { pace, sleeps, now } = setUp()
  for (let mib = 0; mib < 16; mib += 1) await pace.wait('a', MIB)
  expect(sleeps).toEqual([])
  for (let mib = 0; mib < 64; mib += 1) await pace.wait('a', MIB)
  expect(now()).toBeCloseTo(2000, 5)
})

it('paces each organization by itself, and all its uploads together', async () => {
  const { pace, sleeps } = setUp()
  await pace.wait('a', 16 * MIB)
  await pace.wait('b', 16 * MIB)
  expect(sleeps).toEqual([])
  await Promise.all([pace.wait('a', 8 * MIB), pace.wait('a', 8 * MIB)])
  expect(sleeps).toEqual([250, 250])
})

it('forgets what was uploaded long ago', async () => {
  const { pace, sleeps, pass } = setUp()
  await pace.wait('a', 32 * MIB)
  expect(sleeps).toEqual([500])
  pass(500)
  await pace.wait('a', 16 * MIB)
  expect(sleeps).toEqual([500])
})
