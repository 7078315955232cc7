import { beforeEach, expect, it } from 'vitest'
import { type AnnouncedEvent, type KnownEvents, createKnownEvents } from './known/known-events.ts'
import { type SendNow, createSendNow } from './send-now.ts'
import type { FoundEvent } from './store.ts'
import type { EndOfUnrouted } from '../lanes/held/waiting-messages.ts'

const started = new Map<string, EndOfUnrouted>()
const returned: AnnouncedEvent[] = []
let isReady = true
let room: number | null = 256
let accepts: (id: string, onEnd: EndOfUnrouted) => boolean
let known: KnownEvents
let sendNow: SendNow
beforeEach(() => {
  started.clear()
  returned.splice(0)
  isReady = true
  room = 256
  accepts = () => true
  known = createKnownEvents(1000)
  sendNow = createSendNow({
    direct: {
      roomForBacklog: () => room,
      awaitRoom: () => undefined,
      accept(_lane, { id }, { onEnd }) {
        if (!accepts(id, onEnd)) return false
        started.set(id, onEnd)
        return true
      },
    },
    known,
    isReady: () => isReady,
    onReturn: (event) => void returned.push(event),
    onRoom: () => undefined,
    nowMs: () => 0,
  })
})

const place = { orgId: 'a', topic: 'audits' }
const event = (id: string, webhookId: string | null = 'w') => ({ ...place, id, webhookId, json: '{}' })

function found(id: string, webhookId: string | null = 'w'): FoundEvent {
  return { ...place, id, webhookId, siteId: null, bytes: 2, json: '{}', routedTo: null }
}

/** Returns the webhooks that may have received the events that a search has found. */
function sentTo(...events: readonly FoundEvent[]) {
  const [queue] = sendNow.excludeSending([{ events, subscribers: [] }])
  return queue?.events.map(({ id, sentTo }) => [id, sentTo])
}

it('sends the event of a commit, and leaves it out of rounds until its result is written', () => {
  expect(sendNow.start(['1'], [event('1')])).toEqual([])
  expect([sendNow.ids(), sentTo(found('1'), found('2', null))]).toEqual([['1'], [['2', null]]])
  started.get('1')?.('written')
  expect([sendNow.ids(), returned]).toEqual([[], []])
})

it('sends no event of a commit with several, although a single webhook receives the last one', () => {
  expect(sendNow.start(['1', '2'], [event('1', null), event('2')])).toEqual(['1', '2'])
  expect(sendNow.start(['3', '4'], [event('4')])).toEqual(['3', '4'])
  expect(started.size).toBe(0)
})

it('sends no event before earlier ones of its queue are routed', () => {
  known.announce(['1'], [event('1', null)])
  expect(sendNow.start(['2'], [event('2')])).toEqual(['2'])
  isReady = false
  known.delete(['1'])
  expect(sendNow.start(['3'], [event('3')])).toEqual(['3'])
})

it('sends no event that was found before its commit was announced', () => {
  sentTo(found('1'))
  sendNow.forget(['1'])
  expect(sendNow.start(['1'], [event('1')])).toEqual(['1'])
})

it('knows an event that comes back as one that may have been sent, until it is routed', () => {
  sendNow.start(['1'], [event('1')])
  started.get('1')?.('returned')
  expect(returned).toEqual([{ ...place, id: '1' }])
  expect(sentTo(found('1'), found('2'))).toEqual([
    ['1', 'w'],
    ['2', null],
  ])
  sendNow.forget(['1'])
  expect(sentTo(found('1'))).toEqual([['1', null]])
})

it('knows an event that a lane returns without a request as one that was not sent', () => {
  sendNow.start(['1'], [event('1')])
  started.get('1')?.('unsent')
  expect([returned, sendNow.ids(), sentTo(found('1'))]).toEqual([[{ ...place, id: '1' }], [], [['1', null]]])
})

it('routes an event that a lane returns while it accepts it', () => {
  accepts = (_id, onEnd) => {
    onEnd('unsent')
    return true
  }
  expect([sendNow.start(['1'], [event('1')]), sendNow.ids()]).toEqual([['1'], []])
  expect(returned).toEqual([{ ...place, id: '1' }])
})

/** Announces events as the router does. */
function announce(...events: readonly ReturnType<typeof event>[]): void {
  for (const one of events) known.announce(sendNow.start([one.id], [one]), [one])
}

function beginRound(): void {
  sendNow.beginRound()
  known.accept()
}

it('passes events on that were announced during a round which has routed everything before them', () => {
  announce(event('1', null))
  beginRound()
  const other = { ...event('5'), orgId: 'b' }
  announce(event('2'), event('3'), event('4', null), other, event('6'))
  expect([...started.keys()]).toEqual(['5'])
  known.delete(['1'])
  sendNow.endRound()
  // Everything behind an event that has to be routed waits as well.
  expect([...started.keys()]).toEqual(['5', '2', '3'])
  beginRound()
  expect(known.ids()).toEqual(['4', '6'])
})

it('passes no event on while the round has left earlier ones of its queue, or a lane has refused one', () => {
  announce(event('1', null), event('2', null))
  beginRound()
  announce(event('3'))
  known.delete(['1'])
  sendNow.endRound()
  beginRound()
  announce(event('4'), event('5'))
  known.delete(['2', '3'])
  accepts = (id) => id !== '4'
  sendNow.endRound()
  expect([...started.keys()]).toEqual([])
  beginRound()
  expect(known.ids()).toEqual(['4', '5'])
})

it('passes no event on that the round has found, because that has routed it', () => {
  announce(event('1', null))
  beginRound()
  announce(event('2'))
  sentTo(found('1', null), found('2'))
  known.delete(['1', '2'])
  sendNow.endRound()
  expect(started.size).toBe(0)
})

it('takes what a former run may have passed on of a backlog as sent, up to the first event that had to be routed', () => {
  isReady = false
  const webhook = { orgId: 'a', id: 'w', siteId: null, singleEvent: true, filter: null, byDevice: false }
  const ids = Array.from({ length: 400 }, (_, index) => String(index).padStart(3, '0'))
  const sentIds = (events: readonly FoundEvent[], subscribers = [webhook]) => {
    const [queue] = sendNow.excludeSending([{ events, subscribers }])
    return queue?.events.filter(({ sentTo }) => sentTo === 'w').map(({ id }) => id)
  }
  const all = ids.map((id) => found(id, null))
  expect(sentIds(all.map((event) => ({ ...event, topic: 'alarms' })))).toEqual(ids.slice(0, 320))
  // Another queue of the webhook has its own.
  expect(sentIds(all.map((event) => (event.id === '010' ? { ...event, bytes: 5_000_000 } : event)))).toEqual(
    ids.slice(0, 10),
  )
  const gathers = [{ ...webhook, singleEvent: false }]
  expect(sentIds(all, gathers)).toEqual([])
  isReady = true
  expect(sentIds(all)).toEqual([])
})

it('takes the first events of each webhook as sent by a former run, until everything of the start is routed', () => {
  isReady = false
  const ids = Array.from({ length: 100 }, (_, index) => String(index).padStart(3, '0'))
  const others = ['100', '101'].map((id) => found(id, 'other'))
  known.announce(['102'], [event('102')])
  const all = [...ids.map((id) => found(id)), ...others, found('102', 'third'), found('103', null)]
  const sent = sentTo(...all)?.filter(([, to]) => to !== null)
  expect(sent?.map(([id]) => id)).toEqual([...ids.slice(0, 64), '100', '101'])
  // Another look gives the same answer, also to those that were left.
  expect(sentTo(...all.slice(60, 70))?.filter(([, to]) => to !== null)).toHaveLength(4)
  isReady = true
  expect(sentTo(found('000'), found('200'))).toEqual([
    ['000', null],
    ['200', null],
  ])
})
