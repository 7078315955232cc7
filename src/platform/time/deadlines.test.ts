import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { type Deadlines, createDeadlines } from './deadlines.ts'

let deadlines: Deadlines
let expired: string[]
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  deadlines = createDeadlines()
  expired = []
})
afterEach(() => vi.useRealTimers())

const add = (name: string, ms: number) => deadlines.add(ms, { expire: () => expired.push(name) })

it('expires each at its time, never early and at most a tick late', () => {
  add('long', 15_000)
  add('short', 100)
  add('middle', 1000)
  vi.advanceTimersByTime(99)
  expect(expired).toEqual([])
  vi.advanceTimersByTime(21)
  expect(expired).toEqual(['short'])
  vi.advanceTimersByTime(879)
  expect(expired).toEqual(['short'])
  vi.advanceTimersByTime(21)
  expect(expired).toEqual(['short', 'middle'])
  vi.advanceTimersByTime(14_000)
  expect(expired).toEqual(['short', 'middle', 'long'])
})

it('forgets a time-out that is cancelled, and runs no timer without time-outs', () => {
  const deadline = add('cancelled', 50)
  expect(vi.getTimerCount()).toBe(1)
  deadline.cancel()
  deadline.cancel()
  vi.advanceTimersByTime(1000)
  expect(expired).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
  add('later', 10)
  vi.advanceTimersByTime(40)
  expect(expired).toEqual(['later'])
})

it('takes a time-out that is added while others expire', () => {
  deadlines.add(30, { expire: () => add('next', 0) })
  vi.advanceTimersByTime(100)
  expect(expired).toEqual(['next'])
})

it('counts a second of the time for which the process was stopped, and expires everything after that', () => {
  for (let index = 0; index < 100; index += 1) add(String(index), index * 37)
  let skippedMs = 0
  const nowMs = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + skippedMs)
  vi.advanceTimersByTime(250)
  skippedMs = 60_000
  vi.advanceTimersByTime(500)
  expect(expired.length).toBeLessThan(1800 / 37)
  vi.advanceTimersByTime(4000)
  expect(expired).toHaveLength(100)
})

it('expires one that is added later and ends earlier', () => {
  add('long', 15_000)
  add('short', 100)
  vi.advanceTimersByTime(120)
  expect(expired).toEqual(['short'])
})

it('lets an answer that arrived while the process was blocked cancel a time-out', async () => {
  vi.useRealTimers()
  const real = createDeadlines()
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer]: Socket[] = await once(server, 'connection')
  const deadline = real.add(40, { expire: () => expired.push('answered') })
  const unanswered = new Promise<void>((resolve) => void real.add(40, { expire: resolve }))
  client.once('data', () => deadline.cancel())
  peer?.end('answer')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  await unanswered
  client.destroy()
  expect(expired).toEqual([])
})
