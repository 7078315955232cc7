import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { requester, setUp } from './turns-harness.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('counts what a request costs another process', async () => {
  const { begun, enter, spend, turns, work } = setUp()
  await spend('other', 30)
  for (let times = 0; times < 40; times += 1) {
    const { response, close } = await enter('heavy', requester('heavy'))
    work(1)
    turns.addCost(response, 24)
    close()
    await vi.advanceTimersByTimeAsync(1000)
  }
  begun.length = 0
  const first = await enter('first', requester('heavy'))
  await enter('second', requester('heavy'))
  work(1)
  turns.addCost(first.response, 24)
  first.close()
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(2)
  expect(begun).toEqual(['first', 'second'])
})

it('counts the cost of another process that comes after the time of the request', async () => {
  const { turns, enter, spend } = setUp()
  for (let times = 0; times < 40; times += 1) {
    await spend('other', 10)
    const { response, close } = await enter('slow', requester('slow'))
    await vi.advanceTimersByTimeAsync(1100)
    turns.addCost(response, 50)
    close()
  }
  await enter('next', requester('slow'))
  expect(turns.isHeavy('slow')).toBe(true)
})

it('pauses for longer after a request that cost more than expected', async () => {
  const { begun, enter, spend, becomeHeavy, work } = setUp()
  await spend('other', 30)
  await becomeHeavy('heavy')
  const first = await enter('first', requester('heavy', 'GET /pages'))
  await enter('second', requester('heavy'))
  work(75)
  first.close()
  await vi.advanceTimersByTimeAsync(295)
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(10)
  expect(begun).toEqual(['first', 'second'])
})

it('knows the cost of a request when it has been answered, though its client never reads the answer', async () => {
  const { turns, begun, enter, spend, work } = setUp()
  await spend('other', 30)
  const first = await enter('first', requester('heavy'))
  for (let number = 1; number <= 30; number += 1) turns.countWaiting(requester('heavy'))
  expect(turns.isHeavy('heavy')).toBe(false)
  work(25)
  first.response.emit('prefinish')
  expect(turns.isHeavy('heavy')).toBe(true)
  for (const name of ['second', 'third']) await enter(name, requester('heavy'))
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toEqual(['first'])
  first.close()
  await vi.advanceTimersByTimeAsync(50)
  expect(begun).toEqual(['first', 'second'])
})

it('counts the work of the database as little as that of the thread on a busy machine', async () => {
  const pauseAfterChange = async (share: number): Promise<number> => {
    const { begun, enter, spend, becomeHeavy } = setUp({ share })
    await spend('other', 30)
    const change = { ...requester('heavy', 'PUT /things'), kind: 'change' as const, bodyBytes: 1024 * 1024 }
    await enter('known', change).then(({ close }) => close())
    await becomeHeavy('heavy')
    for (const name of ['first', 'second']) await enter(name, change).then(({ close }) => name === 'first' && close())
    let pausedMs = 0
    for (; begun.length < 2; pausedMs += 1) await vi.advanceTimersByTimeAsync(1)
    return pausedMs
  }
  expect(await pauseAfterChange(0.5)).toBeCloseTo(await pauseAfterChange(1), -1)
})

it.each(['refused', 'left'])(
  'does not take an expensive operation for a quick one because requests were %s',
  async (how) => {
    const { begun, enter, spend, becomeHeavy, work } = setUp()
    await spend('other', 30)
    await becomeHeavy('heavy')
    for (let times = 0; times < 20; times += 1) {
      const { response, close } = await enter('cheap', requester('heavy'))
      work(0.3)
      response.statusCode = 400
      if (how === 'left') response.emit('close')
      else close()
      await vi.advanceTimersByTimeAsync(1000)
    }
    begun.length = 0
    await enter('first', requester('heavy'))
    await vi.advanceTimersByTimeAsync(500)
    await enter('second', requester('heavy'))
    expect(begun).toEqual(['first'])
  },
)

it('sets no timer to a time before now if a request costs less than expected', async () => {
  const { enter, spend, becomeHeavy, work } = setUp()
  await spend('other', 30)
  await becomeHeavy('heavy')
  const times: number[] = []
  const setTimer = globalThis.setTimeout
  // Not a spy: Vitest restores spies at the end of the file, and the next file would get the timer of this fake clock.
  vi.stubGlobal('setTimeout', (run: () => void, ms = 0) => {
    times.push(ms)
    return setTimer(run, ms)
  })
  const { close } = await enter('cheap', requester('heavy'))
  await vi.advanceTimersByTimeAsync(500)
  work(1)
  close()
  vi.unstubAllGlobals()
  expect(times).toContain(0)
  expect(Math.min(...times)).toBe(0)
})

it('counts what earlier requests of an account have caused in the database, and lets it pause for that', async () => {
  const { turns, begun, enter, spend, becomeHeavy, work } = setUp()
  await spend('other', 30)
  await becomeHeavy('heavy')
  const { close } = await enter('first', requester('heavy'))
  work(25)
  turns.charge('heavy', 100)
  close()
  await enter('second', requester('heavy'))
  await vi.advanceTimersByTimeAsync(495)
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(10)
  expect(begun).toEqual(['first', 'second'])
})

it('takes an account for heavy whose requests cost little and cause much', async () => {
  const { turns, enter } = setUp()
  for (const account of ['other', 'busy']) await enter(account, requester(account))
  expect(turns.isHeavy('busy')).toBe(false)
  turns.charge('busy', 800)
  expect(['busy', 'other'].map((account) => turns.isHeavy(account))).toEqual([true, false])
})
