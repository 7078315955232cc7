import { systemScope } from '../../access/scope.ts'
import { type ChangeKind, MAX_NAMED, kindsWith, parseChanges } from '../../platform/database/changes.ts'
import type { Context } from '../../platform/context.ts'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import type { ChangeSource, ChangedObject } from './channel.ts'
import { type History, type Message, createHistory } from './history.ts'

/** Changes of this time share a read, and several changes of one object a message. */
const GATHER_MS = 100
/** The number of changes per read, by default. */
const BATCH = 500
/** After so many messages, connections write what they have got: no client is too slow for what comes all at once. */
const PER_TURN = 50
/** How long a channel without a listener keeps its messages, for clients that reconnect. */
const KEEP_MS = 60_000

export interface Listener {
  onMessage(channel: string, message: Message): void
  /** Messages were left out: the client has to read the whole list again. */
  onMissed(channel: string, seq: number): void
}

/** A channel that may have listeners. */
export interface HeardChannel {
  readonly name: string
  readonly orgId: string
  readonly kinds: readonly ChangeKind[]
}

/** Reads each change once for all of its listeners, and only if there are any. */
export interface Hub {
  /**
   * Adds a listener; the last messages that it has missed are returned, oldest first.
   * @param after The number of the last message that it has; null: none.
   */
  subscribe(channel: HeardChannel, listener: Listener, after: number | null): Subscribed
  unsubscribe(name: string, listener: Listener): void
  /** Resolves when no more is read. */
  stop(): Promise<void>
}

export interface Subscribed {
  /** The number of the channel's last message. */
  readonly seq: number
  /** The messages that the listener has missed; null if they are no longer stored. */
  readonly missed: readonly Message[] | null
}

interface Open extends HeardChannel {
  readonly listeners: Set<Listener>
  readonly history: History
  /** The time since which the channel has had no listener. */
  quietSinceMs: number | null
}

export function createHub(ctx: Context, sources: readonly ChangeSource[]): Hub {
  const readers = new Map(sources.map((source) => [source.kind, source]))
  const open = new Map<string, Open>()
  /** The number of channels per kind in an organization. */
  const heard = new Map<string, number>()
  const waiting = new Map<string, Set<string>>()
  let timer: NodeJS.Timeout | null = null
  let working: Promise<void> = Promise.resolve()
  let isStopped = false

  const keyOf = (kind: ChangeKind, orgId: string): string => `${kind} ${orgId}`

  function count({ kinds, orgId }: HeardChannel, change: 1 | -1): void {
    for (const kind of kinds) {
      const key = keyOf(kind, orgId)
      const next = (heard.get(key) ?? 0) + change
      if (next > 0) heard.set(key, next)
      else heard.delete(key)
    }
  }

  function closeQuiet(): void {
    const nowMs = ctx.clock.now().getTime()
    for (const channel of open.values()) {
      if (channel.quietSinceMs === null || nowMs - channel.quietSinceMs < KEEP_MS) continue
      open.delete(channel.name)
      count(channel, -1)
    }
  }

  function onChanges(kind: ChangeKind, orgId: string, named: readonly string[]): void {
    const key = keyOf(kind, orgId)
    if (!heard.has(key)) return
    const ids = waiting.get(key) ?? new Set()
    for (const id of named) ids.add(id)
    if (named.length > 0 && ids.size <= MAX_NAMED) waiting.set(key, ids)
    else {
      waiting.delete(key)
      sendMissed(kind, orgId)
    }
  }

  function onHints(hints: Iterable<string>): void {
    if (open.size === 0) return
    for (const hint of hints) {
      const { kind, orgId, ids } = parseChanges(hint)
      for (const each of kindsWith(kind)) onChanges(each, orgId, ids)
    }
    if (waiting.size > 0) timer ??= setTimeout(readSoon, GATHER_MS)
  }

  function readSoon(): void {
    working = working.then(readParts).then((isPartial) => {
      timer = waiting.size > 0 && !isStopped ? setTimeout(readSoon, isPartial ? 0 : GATHER_MS) : null
    })
  }

  /**
   * Reads a part of each organization's changes of each kind, so that many of one delay no other.
   * @returns True if there were more of some.
   */
  async function readParts(): Promise<boolean> {
    closeQuiet()
    let isPartial = false
    for (const [key, ids] of [...waiting]) {
      if (isStopped) return false
      const [kind, orgId] = key.split(' ') as [ChangeKind, string]
      const part = [...ids.values().take(readers.get(kind)?.perRead ?? BATCH)]
      for (const id of part) ids.delete(id)
      if (ids.size === 0) waiting.delete(key)
      else isPartial = true
      await readBatch({ kind, orgId }, part)
    }
    return isPartial
  }

  async function readBatch(
    { kind, orgId }: { readonly kind: ChangeKind; readonly orgId: string },
    ids: string[],
  ): Promise<void> {
    try {
      const objects = (await readers.get(kind)?.read(ctx, systemScope('stream', orgId), ids)) ?? []
      for (const [index, object] of objects.entries()) {
        if (index > 0 && index % PER_TURN === 0) await nextTurn()
        send(object)
      }
    } catch (error) {
      ctx.log.warn(
        { err: error, kind, orgId },
        'changes could not be read for the stream; its clients are told to read again',
      )
      sendMissed(kind, orgId)
    }
  }

  function send({ channels, data }: ChangedObject): void {
    for (const name of channels) {
      const channel = open.get(name)
      if (channel === undefined) continue
      const message = channel.history.add((seq) => JSON.stringify({ event: 'data', channel: name, data, seq }))
      for (const listener of channel.listeners) listener.onMessage(name, message)
    }
  }

  function sendMissed(kind: ChangeKind, orgId: string): void {
    for (const channel of open.values()) {
      if (channel.orgId !== orgId || !channel.kinds.includes(kind)) continue
      const seq = channel.history.skip()
      for (const listener of channel.listeners) listener.onMissed(channel.name, seq)
    }
  }

  const stopHearing = ctx.wakes.on('changes', onHints)
  return {
    subscribe(wanted, listener, after) {
      let channel = open.get(wanted.name)
      if (channel === undefined) {
        closeQuiet()
        // A thousand messages in a millisecond is more than any channel has.
        const history = createHistory(ctx.clock.now().getTime() * 1000)
        channel = { ...wanted, listeners: new Set(), history, quietSinceMs: null }
        open.set(wanted.name, channel)
        count(channel, 1)
      }
      channel.listeners.add(listener)
      channel.quietSinceMs = null
      const { seq } = channel.history
      return { seq, missed: after === null ? [] : channel.history.after(after) }
    },
    unsubscribe(name, listener) {
      const channel = open.get(name)
      if (channel === undefined || !channel.listeners.delete(listener)) return
      if (channel.listeners.size === 0) channel.quietSinceMs = ctx.clock.now().getTime()
    },
    async stop() {
      isStopped = true
      stopHearing()
      if (timer !== null) clearTimeout(timer)
      await working
    },
  }
}
