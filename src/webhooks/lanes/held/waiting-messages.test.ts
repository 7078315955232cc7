import { beforeEach, expect, it } from 'vitest'
import type { DueMessage } from '../../delivery/store-due.ts'
import { type Unrouted, type WaitingMessages, createWaitingMessages } from './waiting-messages.ts'

const ends: string[] = []
let bytes: number
let room: number
let waiting: WaitingMessages
const turn = {
  add(more: number) {
    if (bytes + more > room) return false
    bytes += more
    return true
  },
  subtract(less: number) {
    bytes -= less
  },
}
beforeEach(() => {
  ends.splice(0)
  bytes = 4
  room = 1000
  waiting = createWaitingMessages(turn, { order: null, first: [message('first')] })
})

function message(id: string, orderKey: string | null = null): DueMessage {
  return { id, topic: 'audits', body: Buffer.alloc(4), attempt: 0, pauses: 0, orderKey, payload: null }
}

const endOf = (id: string): Unrouted => {
  return { onEnd: (end) => void ends.push(`${id} ${end}`), isOfBacklog: false, acceptedAt: new Date(0) }
}

function startAll(): string[] {
  const started: string[] = []
  for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
    waiting.start(next)
    started.push(next.message.id)
  }
  return started
}

it('starts messages in their order, whether they are in the database or not', () => {
  waiting.add(message('unrouted'), endOf('unrouted'))
  waiting.add(message('routed'))
  expect(startAll()).toEqual(['first', 'unrouted', 'routed'])
  // They count until they have ended.
  expect([waiting.count(), bytes, ends]).toEqual([0, 12, []])
})

it('returns the messages that are not in the database, and keeps the others', () => {
  waiting.add(message('unrouted'), endOf('unrouted'))
  waiting.add(message('routed'))
  expect(waiting.takeUnrouted().map(({ message: { id } }) => id)).toEqual(['unrouted'])
  expect(waiting.takeUnrouted()).toEqual([])
  expect([ends, bytes, startAll()]).toEqual([[], 8, ['first', 'routed']])
})

it('accepts no message beyond 256, and none that exceeds the bytes of its turn', () => {
  room = 10_000
  const all = Array.from({ length: 256 }, (_, index) => waiting.add(message(String(index))))
  expect(all).toEqual([...Array<boolean>(255).fill(true), false])
  startAll()
  room = bytes + 3
  expect(waiting.add(message('large'))).toBe(false)
})

it('accepts a message that is not in the database only behind fewer than 64', () => {
  const all = Array.from({ length: 64 }, (_, index) => waiting.add(message(String(index)), endOf(String(index))))
  expect(all).toEqual([...Array<boolean>(63).fill(true), false])
  expect(waiting.add(message('routed'))).toBe(true)
})

it('accepts events of a backlog up to 256, unless the first message has waited for five seconds', () => {
  let nowMs = 7000
  waiting = createWaitingMessages(turn, { order: null, first: [message('first')], nowMs: () => nowMs })
  room = 10_000
  expect(waiting.room()).toBe(255)
  const ofBacklog = { ...endOf('backlog'), isOfBacklog: true }
  while (waiting.room() !== 0) expect(waiting.add(message('backlog'), ofBacklog)).toBe(true)
  expect([waiting.count(), waiting.add(message('more'), ofBacklog)]).toEqual([256, false])
  nowMs += 5000
  expect(waiting.room()).toBe(0)
  nowMs += 1
  expect(waiting.room()).toBeNull()
  startAll()
  expect(waiting.room()).toBe(256)
})

it('drops the messages that have to wait for another attempt of one before them', () => {
  waiting = createWaitingMessages(turn, {
    order: 'device',
    first: [message('a1', 'a'), message('b1', 'b'), message('a2', 'a')],
  })
  const first = waiting.next()
  if (first === undefined) throw new Error('none may start')
  waiting.start(first)
  expect(waiting.next()?.message.id).toBe('b1')
  expect(waiting.end(first.message, false)).toBe(false)
  expect(waiting.count()).toBe(1)
  expect(startAll()).toEqual(['b1'])
})

it('starts a message of a device only when the one before it has ended', () => {
  waiting = createWaitingMessages(turn, { order: 'device', first: [message('a1', 'a'), message('a2', 'a')] })
  const first = waiting.next()
  if (first === undefined) throw new Error('none may start')
  waiting.start(first)
  expect(waiting.next()).toBeUndefined()
  expect(waiting.end(first.message, true)).toBe(true)
  expect(startAll()).toEqual(['a2'])
})

it('keeps as many as are asked for', () => {
  waiting.add(message('second'), endOf('second'))
  expect([waiting.keepFirst(2), waiting.keepFirst(1), bytes, startAll()]).toEqual([true, false, 4, ['first']])
  // Otherwise nobody would route it.
  expect(ends).toEqual(['second unsent'])
})
