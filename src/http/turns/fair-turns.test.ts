import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { UNKNOWN_CALLERS } from './accounts/account-use.ts'
import { requester, setUp } from './turns-harness.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('takes the place of a usual request back after a tenth of a second', async () => {
  const { begun, enter, spend } = setUp()
  await spend('other', 30)
  for (let number = 1; number <= 9; number += 1) await enter(String(number), requester('busy'))
  expect(begun).toHaveLength(8)
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toHaveLength(8)
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toHaveLength(9)
})

it('leaves the place of a heavy request to it for a second', async () => {
  const { begun, enter, spend, becomeHeavy } = setUp()
  await spend('other', 30)
  await becomeHeavy('heavy')
  for (const name of ['first', 'second']) await enter(name, requester('heavy'))
  await vi.advanceTimersByTimeAsync(999)
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(2)
  expect(begun).toEqual(['first', 'second'])
})

it('begins requests of a heavy account at intervals of five times their cost', async () => {
  const { begun, enter, spend, becomeHeavy, work } = setUp()
  await spend('other', 30)
  await becomeHeavy('heavy')
  const first = await enter('first', requester('heavy'))
  await enter('second', requester('heavy'))
  work(25)
  first.close()
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toEqual(['first'])
  const another = await enter('another', requester('other'))
  another.close()
  await vi.advanceTimersByTimeAsync(2)
  expect(begun).toEqual(['first', 'another', 'second'])
})

it('begins several quick requests of a heavy account beside each other, at intervals', async () => {
  const { begun, enter, spend } = setUp()
  await spend('other', 30)
  for (let times = 0; times < 350; times += 1) await spend('heavy', 2)
  for (const name of ['first', 'second', 'third']) await enter(name, requester('heavy'))
  await vi.advanceTimersByTimeAsync(7)
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(2)
  expect(begun).toEqual(['first', 'second'])
  await vi.advanceTimersByTimeAsync(8)
  expect(begun).toEqual(['first', 'second', 'third'])
})

it('divides the share of heavy accounts between them', async () => {
  const { begun, enter, spend, becomeHeavy, work } = setUp()
  await spend('other', 30)
  for (const heavy of ['a', 'b', 'c', 'd']) await becomeHeavy(heavy)
  for (const heavy of ['b', 'c', 'd']) await enter(heavy, requester(heavy, 'GET /cheap'))
  const first = await enter('first', requester('a'))
  await enter('second', requester('a'))
  begun.length = 0
  work(25)
  first.close()
  await vi.advanceTimersByTimeAsync(140)
  expect(begun).toEqual([])
  await vi.advanceTimersByTimeAsync(3)
  expect(begun).toEqual(['second'])
})

it('takes an account with many waiting requests for heavy earlier, and one that waits for nothing any more for light', async () => {
  const { turns, begun, enter, spend, work } = setUp()
  await spend('other', 30)
  await spend('busy', 10)
  const requests = []
  for (let number = 1; number <= 30; number += 1) requests.push(await enter(String(number), requester('busy')))
  expect([begun.length, turns.isHeavy('busy')]).toEqual([8, false])
  work(400)
  for (const { close } of requests.slice(0, 8)) close()
  expect(turns.isHeavy('busy')).toBe(true)
  // Each of the others keeps its place for a second.
  await vi.advanceTimersByTimeAsync(10_000)
  expect([turns.isHeavy('busy'), begun.length < 30]).toEqual([true, true])
  await vi.advanceTimersByTimeAsync(30_000)
  expect([turns.isHeavy('busy'), begun.length]).toEqual([false, 30])
})

it('begins quick requests of a heavy account beside each other also while its other ones are long', async () => {
  const { begun, enter, spend, becomeHeavy, work } = setUp()
  await spend('other', 30)
  const change = requester('heavy', 'PUT /things')
  const first = await enter('first', change)
  work(1)
  first.close()
  await becomeHeavy('heavy')
  for (const name of ['long', 'waiting']) await enter(name, requester('heavy'))
  expect(begun).toEqual(['long'])
  await vi.advanceTimersByTimeAsync(100)
  for (const name of ['change', 'another']) await enter(name, { ...change, kind: 'change' })
  await vi.advanceTimersByTimeAsync(20)
  expect(begun).toEqual(['long', 'change', 'another'])
})

it('lets unknown callers begin after a tenth of a second, whatever they have used', async () => {
  const { begun, enter, spend, becomeHeavy, work } = setUp()
  const stranger = { ...requester(''), account: undefined }
  await spend('other', 30)
  await becomeHeavy(UNKNOWN_CALLERS)
  const first = await enter('first', stranger)
  work(500)
  first.close()
  await enter('second', { ...stranger, network: '192.0.2.2' })
  expect(begun).toEqual(['first'])
  await vi.advanceTimersByTimeAsync(200)
  expect(begun).toEqual(['first', 'second'])
})

it('lets a heavy account begin when no light request is in work, or after a twentieth of a second', async () => {
  const { begun, enter, spend, becomeHeavy } = setUp()
  await spend('other', 30)
  await becomeHeavy('heavy')
  const light = await enter('light', requester('other'))
  const first = await enter('first', requester('heavy'))
  await vi.advanceTimersByTimeAsync(20)
  expect(begun).toEqual(['light'])
  light.close()
  await vi.advanceTimersByTimeAsync(0)
  expect(begun).toEqual(['light', 'first'])
  first.close()
  await vi.advanceTimersByTimeAsync(1000)
  await enter('light', requester('other'))
  await enter('second', requester('heavy'))
  await vi.advanceTimersByTimeAsync(49)
  expect(begun).toEqual(['light', 'first', 'light'])
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toEqual(['light', 'first', 'light', 'second'])
})

it('lets a long request give way to light ones, and not to other long ones', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { turns, enter } = setUp()
  const [long, another] = [await enter('long', requester('a')), await enter('another', requester('b'))]
  const passed: string[] = []
  const giveWay = async (name: string, { response }: typeof long): Promise<void> => {
    await turns.giveWay(response)
    passed.push(name)
  }
  const waiting = giveWay('long', long)
  await nextTurn()
  await nextTurn()
  expect(passed).toEqual([])
  await giveWay('another', another)
  await waiting
  expect(passed.toSorted()).toEqual(['another', 'long'])
  const light = await enter('light', requester('c'))
  const second = giveWay('second', long)
  await nextTurn()
  await nextTurn()
  expect(passed).not.toContain('second')
  light.close()
  await second
})

it('does not let a long request wait for light ones that keep no place any more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { turns, enter } = setUp()
  const long = await enter('long', requester('a'))
  await enter('light', requester('b'))
  let hasPassed = false
  void turns.giveWay(long.response).then(() => (hasPassed = true))
  await nextTurn()
  await vi.advanceTimersByTimeAsync(99)
  expect(hasPassed).toBe(false)
  // The light one takes too long to count.
  await vi.advanceTimersByTimeAsync(1)
  expect(hasPassed).toBe(true)
})

it('does not take the part of a request before it waited for all of it', async () => {
  const { turns, begun, enter, spend, work } = setUp()
  await spend('other', 30)
  for (let number = 0; number < 7; number += 1) {
    const { response, close } = await enter('page', requester('heavy'))
    work(1)
    turns.leave(response)
    const beside = await enter('beside', requester('other'))
    const page = { hasEntered: false }
    void turns.enter(requester('heavy'), response).then(() => (page.hasEntered = true))
    while (!page.hasEntered) await vi.advanceTimersByTimeAsync(20)
    work(200)
    close()
    beside.close()
    await vi.advanceTimersByTimeAsync(1000)
  }
  begun.length = 0
  for (const name of ['first', 'second']) await enter(name, requester('heavy'))
  expect(begun).toEqual(['first'])
})
