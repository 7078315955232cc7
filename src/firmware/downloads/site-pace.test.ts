import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type PaceLane, createSitePace } from './site-pace.ts'

const CHUNK = 1000
const RATE = 10_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Takes chunks one after the other, as a response does, and counts them. */
function download(lane: PaceLane): { chunks: number } {
  const progress = { chunks: 0 }
  const run = async (): Promise<void> => {
    while (await lane.take(CHUNK)) progress.chunks += 1
  }
  void run()
  return progress
}

test('devices of a site share its bandwidth evenly, however many responses each has', async () => {
  const pace = createSitePace(RATE)
  const open = (device: string) => pace.open('site', device)
  const many = [open('greedy'), open('greedy'), open('greedy')]
  const others = [open('second'), open('third')]
  const greedy = many.map(download)
  const modest = others.map(download)
  await vi.advanceTimersByTimeAsync(60_000)
  const sum = greedy.reduce((total, { chunks }) => total + chunks, 0)
  const counts = [sum, ...modest.map(({ chunks }) => chunks)]
  const total = counts.reduce((one, other) => one + other, 0)
  // 600 chunks in a minute, and the burst at the beginning.
  expect(total).toBeGreaterThanOrEqual(598)
  expect(total).toBeLessThanOrEqual(608)
  for (const count of counts) expect(Math.abs(count - total / 3)).toBeLessThanOrEqual(2)
  for (const lane of [...many, ...others]) lane.close()
  await vi.advanceTimersByTimeAsync(1000)
  expect(vi.getTimerCount()).toBe(0)
})

test('many short requests get no more than a long one', async () => {
  const pace = createSitePace(RATE)
  const progress = { chunks: 0, isOver: false }
  const run = async (): Promise<void> => {
    while (!progress.isOver) {
      const lane = pace.open('a', 'x')
      if (await lane.take(CHUNK)) progress.chunks += 1
      lane.close()
    }
  }
  const ended = run()
  await vi.advanceTimersByTimeAsync(10_000)
  progress.isOver = true
  await vi.advanceTimersByTimeAsync(1000)
  await ended
  expect(progress.chunks).toBeGreaterThanOrEqual(98)
  expect(progress.chunks).toBeLessThanOrEqual(108)
})

test('a site does not slow another one', async () => {
  const pace = createSitePace(RATE)
  const [one, other] = [pace.open('a', 'x'), pace.open('b', 'x')]
  const [first, second] = [download(one), download(other)]
  await vi.advanceTimersByTimeAsync(10_000)
  for (const { chunks } of [first, second]) expect(chunks).toBeGreaterThanOrEqual(98)
  one.close()
  other.close()
})

test('a closed lane gets nothing any more, and leaves its share to the others', async () => {
  const pace = createSitePace(RATE)
  const [gone, stays] = [pace.open('a', 'gone'), pace.open('a', 'stays')]
  const [first, second] = [download(gone), download(stays)]
  await vi.advanceTimersByTimeAsync(1000)
  gone.close()
  gone.close()
  const [before, other] = [first.chunks, second.chunks]
  await vi.advanceTimersByTimeAsync(10_000)
  expect(first.chunks).toBe(before)
  expect(second.chunks - other).toBeGreaterThanOrEqual(98)
  expect(await gone.take(1)).toBe(false)
  stays.close()
  await vi.advanceTimersByTimeAsync(1000)
  expect(vi.getTimerCount()).toBe(0)
})

test('no download waits without a limit', async () => {
  const lane = createSitePace(null).open('a', 'x')
  for (let index = 0; index < 1000; index += 1) expect(await lane.take(1e9)).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('a lane that is closed refuses everything that waits in it, and leaves its turns to others', async () => {
  const pace = createSitePace(RATE)
  const lane = pace.open('a', 'x')
  // Takes the burst, so that the others wait.
  expect(await lane.take(RATE)).toBe(true)
  const waiting = [lane.take(CHUNK), lane.take(CHUNK), lane.take(CHUNK)]
  lane.close()
  const settled = await Promise.race([Promise.all(waiting), vi.advanceTimersByTimeAsync(1).then(() => 'still waiting')])
  expect(settled).toEqual([false, false, false])
  expect(await lane.take(CHUNK)).toBe(false)
  await vi.advanceTimersByTimeAsync(2000)
  expect(vi.getTimerCount()).toBe(0)
})
