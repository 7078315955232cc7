import { watchSilence } from './silence.ts'

/** Hears the changes of one channel. */
export interface StreamListener {
  onData(data: unknown): void
  /** Changes may have been lost: the data on the page must be read again. */
  onGap(): void
  /** From now on no change is missed: data that was read before may be outdated. */
  onSubscribed?(): void
}

/** The live stream of the server. It connects while there are listeners, and reconnects after every loss. */
export interface LiveStream {
  /** @returns A function that ends the subscription. */
  subscribe(channel: string, listener: StreamListener): () => void
  /** Disconnects, or connects again at once. */
  setPaused(paused: boolean): void
}

interface Subscription {
  readonly listeners: Set<StreamListener>
  /** The number of the last message; null before the first subscription is confirmed. */
  seq: number | null
}

/** The parts of a browser that the stream needs. */
export interface StreamParts {
  readonly connect: () => WebSocket
  readonly random: () => number
  /** @returns A function that cancels it. */
  readonly schedule: (run: () => void, ms: number) => () => void
  /** Hears that a connection is silent: the server may be unreachable. */
  readonly suspect: () => void
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 15_000
/** A server that restarts is back sooner. */
const ATTEMPTS_IN_SILENCE = 3

/** Returns the time until the next attempt. It is spread, so that pages don't come back in the same instant. */
export function reconnectDelayMs(attempt: number, random: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * (0.5 + random / 2)
}

export function createStream({ connect, random, schedule, suspect }: StreamParts): LiveStream {
  const subscriptions = new Map<string, Subscription>()
  let socket: WebSocket | null = null
  let attempt = 0
  let isWaiting = false
  let isPaused = false

  function send(message: Readonly<Record<string, unknown>>): void {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }

  function request(channel: string, { seq }: Subscription): void {
    send({ subscribe: channel, ...(seq !== null && { after: seq }) })
  }

  function open(): void {
    isWaiting = false
    if (isPaused || socket !== null || subscriptions.size === 0) return
    const opened = connect()
    socket = opened
    const watch = watchSilence({
      schedule,
      ask: () => send({ ping: true }),
      onSilent() {
        lose()
        opened.close()
        suspect()
      },
    })
    // The end of one that was silent comes late, or never.
    const lose = (): void => {
      watch.stop()
      if (socket !== opened) return
      socket = null
      if (isPaused || subscriptions.size === 0 || isWaiting) return
      // A network may pass no stream: then the attempts set the pace at which pages read.
      if (attempt >= ATTEMPTS_IN_SILENCE) for (const { listeners } of subscriptions.values()) tellGap(listeners)
      isWaiting = true
      schedule(open, reconnectDelayMs(attempt, random()))
      attempt += 1
    }
    opened.addEventListener('open', () => {
      watch.heard()
      attempt = 0
      for (const [channel, subscription] of subscriptions) request(channel, subscription)
    })
    opened.addEventListener('message', ({ data }: MessageEvent<string>) => {
      watch.heard()
      receive(data)
    })
    opened.addEventListener('close', lose)
  }

  function receive(text: string): void {
    const message = parseMessage(text)
    const subscription = message === null ? undefined : subscriptions.get(message.channel)
    if (message === null || subscription === undefined) return
    if (message.seq !== null) subscription.seq = message.seq
    for (const listener of subscription.listeners) {
      if (message.event === 'data') listener.onData(message.data)
      else if (message.isGap) listener.onGap()
      else if (message.isFirst) listener.onSubscribed?.()
    }
  }

  function tellGap(listeners: ReadonlySet<StreamListener>): void {
    for (const listener of listeners) listener.onGap()
  }

  return {
    subscribe(channel, listener) {
      const known = subscriptions.get(channel)
      const subscription = known ?? { listeners: new Set(), seq: null }
      subscription.listeners.add(listener)
      if (known === undefined) {
        subscriptions.set(channel, subscription)
        if (socket === null && !isWaiting) open()
        else request(channel, subscription)
      }
      return () => {
        subscription.listeners.delete(listener)
        if (subscription.listeners.size > 0 || subscriptions.get(channel) !== subscription) return
        subscriptions.delete(channel)
        send({ unsubscribe: channel })
        if (subscriptions.size === 0) socket?.close()
      }
    },
    setPaused(paused) {
      isPaused = paused
      attempt = 0
      if (paused) socket?.close()
      else open()
    },
  }
}

interface StreamMessage {
  readonly event: string
  readonly channel: string
  readonly seq: number | null
  readonly isGap: boolean
  /** The channel is subscribed without a message to go on from. */
  readonly isFirst: boolean
  readonly data: unknown
}

/** Returns null for a text that is not a message of a channel. */
export function parseMessage(text: string): StreamMessage | null {
  const message: unknown = JSON.parse(text)
  if (typeof message !== 'object' || message === null) return null
  const { event, channel, seq, resumed, data } = message as Readonly<Record<string, unknown>>
  if (typeof event !== 'string' || typeof channel !== 'string') return null
  const isGap = event === 'missed' || (event === 'channel_subscribed' && resumed === false)
  const isFirst = event === 'channel_subscribed' && resumed === undefined
  return { event, channel, seq: typeof seq === 'number' ? seq : null, isGap, isFirst, data }
}

/** Connects to the stream of the server that served the page. */
export function browserStream(suspect: () => void): LiveStream {
  const { protocol, host } = globalThis.location
  return createStream({
    connect: () => new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/api-ws/v1/stream`),
    random: Math.random,
    schedule(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    suspect,
  })
}
