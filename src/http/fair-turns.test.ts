import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Requester, createFairTurns } from './fair-turns.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const requester = (account: string, operation = 'GET /things'): Requester => ({
  account,
  network: '192.0.2.1',
  operation,
  kind: 'read',
  bodyBytes: 0,
})

function setUp() {
  let cpuMs = 0
  const turns = createFairTurns({ maxInWork: 100, now: () => 0, cpuMs: () => cpuMs, turnMs: 100 })
  const begun: string[] = []
  const enter = async (name: string, who: Requester) => {
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    const entered = turns.enter(who, response).then(() => begun.push(name))
    await vi.advanceTimersByTimeAsync(0)
    return { response, entered, close: () => response.emit('close') }
  }
  const work = (ms: number) => (cpuMs += ms)
  return {
    turns,
    begun,
    enter,
    work,
    spend: async (account: string, ms: number) => {
      const { close } = await enter(account, requester(account))
      work(ms)
      close()
      await vi.advanceTimersByTimeAsync(1000)
      begun.length = 0
    },
  }
}

it('takes the place of a usual request back after a tenth of a second', async () => {
  const { begun, enter, spend } = setUp()
  await spend('other', 1)
  for (let number = 1; number <= 9; number += 1) await enter(String(number), requester('busy'))
  expect(begun).toHaveLength(8)
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toHaveLength(8)
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toHaveLength(9)
})

it('leaves the place of a heavy request to it for a second', async () => {
  const { begun, enter, spend } = setUp()
  await spend('other', 1)
  await spend('heavy', 400)
  for (const name of ['first', 'second']) await enter(name, requester('heavy'))
  await vi.advanceTimersByTimeAsync(999)
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toEqual(['first', 'second'])
})

it('pauses after a long request of a heavy account for twice the time that it took beyond 5 ms', async () => {
  const { begun, enter, spend, work } = setUp()
  await spend('other', 1)
  await spend('heavy', 400)
  const first = await enter('first', requester('heavy', 'GET /pages'))
  await enter('second', requester('heavy'))
  work(25)
  first.close()
  await vi.advanceTimersByTimeAsync(39)
  expect(begun).toEqual(['first'])
  await enter('another', requester('other'))
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toEqual(['first', 'another', 'second'])
})

it('does not take the part of a request before it waited for all of it', async () => {
  const { turns, begun, enter, spend, work } = setUp()
  await spend('other', 1)
  for (let number = 0; number < 5; number += 1) {
    const { response, close } = await enter('page', requester('heavy'))
    work(1)
    turns.leave(response)
    const beside = await enter('beside', requester('other'))
    await turns.enter({ ...requester('heavy'), isAdmitted: true }, response)
    work(200)
    close()
    beside.close()
    await vi.advanceTimersByTimeAsync(1000)
  }
  begun.length = 0
  for (const name of ['first', 'second']) await enter(name, requester('heavy'))
  expect(begun).toEqual(['first'])
})
