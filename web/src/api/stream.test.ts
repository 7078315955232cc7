import { beforeEach, expect, it, vi } from 'vitest'
import { createStream, parseMessage, reconnectDelayMs } from './stream.ts'

/** Plays the socket of a browser. */
class Socket extends EventTarget {
  readyState: number = WebSocket.OPEN
  readonly sent: unknown[] = []

  send(text: string): void {
    this.sent.push(JSON.parse(text))
  }

  close(): void {
    this.readyState = WebSocket.CLOSED
    this.dispatchEvent(new Event('close'))
  }

  say(message: unknown): void {
    this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** The next attempt comes by then. */
const reconnect = () => vi.advanceTimersByTime(7500)

function setUp() {
  const sockets: Socket[] = []
  const heard: unknown[] = []
  const stream = createStream({
    connect: () => {
      const socket = new Socket()
      sockets.push(socket)
      return socket as unknown as WebSocket
    },
    random: () => 0,
    schedule(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    suspect: () => heard.push('silence'),
  })
  const listener = { onData: (data: unknown) => heard.push(data), onGap: () => heard.push('gap') }
  const latest = (): Socket => sockets.at(-1) ?? expect.fail('not connected')
  const open = (): boolean => latest().dispatchEvent(new Event('open'))
  return { stream, sockets, heard, listener, latest, open }
}

it('resumes after the last message that it has heard', () => {
  const { stream, heard, listener, latest, open } = setUp()
  stream.subscribe('/a', listener)
  open()
  expect(latest().sent).toEqual([{ subscribe: '/a' }])
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 7 })
  latest().say({ event: 'data', channel: '/a', seq: 8, data: 'first' })
  latest().close()
  reconnect()
  open()
  expect(latest().sent).toEqual([{ subscribe: '/a', after: 8 }])
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 8, resumed: true })
  latest().say({ event: 'data', channel: '/a', seq: 9, data: 'second' })
  expect(heard).toEqual(['first', 'second'])
})

it('says where changes were lost', () => {
  const { stream, heard, listener, latest, open } = setUp()
  stream.subscribe('/a', listener)
  open()
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 7, resumed: false })
  latest().say({ event: 'missed', channel: '/a', seq: 9 })
  expect(heard).toEqual(['gap', 'gap'])
})

it('says when a channel is subscribed, and not when it is resumed', () => {
  const { stream, heard, listener, latest, open } = setUp()
  stream.subscribe('/a', { ...listener, onSubscribed: () => heard.push('subscribed') })
  open()
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 7 })
  latest().close()
  reconnect()
  open()
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 7, resumed: true })
  expect(heard).toEqual(['subscribed'])
})

it('shares a channel, and disconnects when its last listener leaves', () => {
  const { stream, sockets, listener, latest, open } = setUp()
  const ends = [stream.subscribe('/a', listener), stream.subscribe('/a', { onData: () => {}, onGap: () => {} })]
  open()
  expect(latest().sent).toEqual([{ subscribe: '/a' }])
  for (const end of ends) end()
  expect(latest().sent.at(-1)).toEqual({ unsubscribe: '/a' })
  expect(latest().readyState).toBe(WebSocket.CLOSED)
  expect(vi.getTimerCount()).toBe(0)
  stream.subscribe('/b', listener)
  expect(sockets).toHaveLength(2)
})

it('has pages read again at each attempt where no stream gets through', () => {
  const { stream, heard, listener, latest, open } = setUp()
  stream.subscribe('/a', listener)
  for (let attempt = 0; attempt < 5; attempt += 1) {
    latest().close()
    reconnect()
  }
  expect(heard).toEqual(['gap', 'gap'])
  open()
  latest().close()
  expect(heard).toEqual(['gap', 'gap'])
})

it('is silent while it is paused, and then goes on after the last message', () => {
  const { stream, sockets, heard, listener, latest, open } = setUp()
  stream.subscribe('/a', listener)
  open()
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 7 })
  stream.setPaused(true)
  stream.subscribe('/b', listener)
  expect(latest().readyState).toBe(WebSocket.CLOSED)
  expect([sockets.length, vi.getTimerCount()]).toEqual([1, 0])
  stream.setPaused(false)
  open()
  expect(latest().sent).toEqual([{ subscribe: '/a', after: 7 }, { subscribe: '/b' }])
  latest().close()
  stream.setPaused(true)
  reconnect()
  expect([sockets.length, heard]).toEqual([2, []])
})

it('gives up a silent connection, and goes on with another one after the last message', () => {
  const { stream, sockets, heard, listener, latest, open } = setUp()
  stream.subscribe('/a', listener)
  open()
  latest().say({ event: 'channel_subscribed', channel: '/a', seq: 7 })
  vi.advanceTimersByTime(20_000)
  expect(latest().sent.at(-1)).toEqual({ ping: true })
  latest().say({ event: 'pong' })
  vi.advanceTimersByTime(20_000)
  expect([latest().sent.at(-1), heard]).toEqual([{ ping: true }, []])
  const [silent] = sockets
  vi.advanceTimersByTime(10_250)
  expect([heard, sockets.length, silent?.readyState]).toEqual([['silence'], 2, WebSocket.CLOSED])
  open()
  expect(latest().sent).toEqual([{ subscribe: '/a', after: 7 }])
  // Its end comes late.
  silent?.dispatchEvent(new Event('close'))
  expect(sockets).toHaveLength(2)
})

it('gives up an attempt that nobody answers', () => {
  const { stream, sockets, heard, listener } = setUp()
  stream.subscribe('/a', listener)
  vi.advanceTimersByTime(10_250)
  expect([heard, sockets.length]).toEqual([['silence'], 2])
})

it('ignores frames that are not messages of a channel', () => {
  expect(parseMessage('7')).toBeNull()
  expect(parseMessage('{"event": "data"}')).toBeNull()
})

it('waits longer after each failure, up to 15 seconds', () => {
  expect([0, 1, 2, 10].map((attempt) => reconnectDelayMs(attempt, 1))).toEqual([500, 1000, 2000, 15_000])
  expect(reconnectDelayMs(0, 0)).toBe(250)
})
