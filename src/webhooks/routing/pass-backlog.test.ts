import { beforeEach, expect, it } from 'vitest'
import { type PassBacklog, createPassBacklog } from './pass-backlog.ts'
import type { Subscriber, WaitingEvent } from './planning/plan-round.ts'

const rooms = new Map<string, number>()
const awaited = new Map<string, () => void>()
const sent: string[] = []
let accepts: (id: string) => boolean
let woken: number
let nowMs: number
let backlog: PassBacklog
beforeEach(() => {
  rooms.clear()
  rooms.set('w', 256)
  awaited.clear()
  sent.splice(0)
  woken = 0
  nowMs = 0
  accepts = () => true
  backlog = createPassBacklog({
    direct: {
      roomForBacklog: (webhookId) => rooms.get(webhookId) ?? null,
      awaitRoom: (webhookId, _events, onRoom) => void awaited.set(webhookId, onRoom),
    },
    send({ id }, webhookId) {
      if (!accepts(id)) return false
      sent.push(`${id} ${webhookId}`)
      rooms.set(webhookId, (rooms.get(webhookId) ?? 0) - 1)
      return true
    },
    onRoom: () => void (woken += 1),
    nowMs: () => nowMs,
  })
})

const webhook: Subscriber = { orgId: 'a', id: 'w', siteId: null, singleEvent: true, filter: null, byDevice: false }

function event(id: string, more: Partial<WaitingEvent> = {}): WaitingEvent {
  const place = { orgId: 'a', siteId: null, topic: 'audits' }
  return { ...place, id, bytes: 2, json: '{}', routedTo: null, sentTo: null, ...more }
}

const idsOf = (events: readonly WaitingEvent[]) => events.map(({ id }) => id)

/** Passes the events of a queue. Returns which were passed, and which have to be routed. */
function pass(events: readonly WaitingEvent[], subscribers: readonly Subscriber[] = [webhook]) {
  const { left, passedIds } = backlog.pass([{ events, subscribers }])
  return { passed: passedIds, routed: left.flatMap(({ events: of }) => idsOf(of)) }
}

it('passes the events of a queue with a single webhook to its lane, in their order', () => {
  expect(pass([event('1'), event('2')])).toEqual({ passed: ['1', '2'], routed: [] })
  expect(sent).toEqual(['1 w', '2 w'])
})

it('routes everything behind an event that the lane can not get unrouted', () => {
  const others: Record<string, Partial<WaitingEvent>> = {
    'a long text': { json: null, bytes: 5000 },
    'one that some webhooks have': { routedTo: 'v' },
    'one that is too large': { bytes: 4_000_001 },
  }
  for (const [name, more] of Object.entries(others)) {
    const result = pass([event('1'), event('2', more), event('3')])
    expect({ name, ...result }).toEqual({ name, passed: ['1'], routed: ['2', '3'] })
  }
})

it('routes events of webhooks that gather, filter or order them, and of lanes that are not held', () => {
  for (const more of [{ singleEvent: false }, { filter: '$.a' }, { byDevice: true }, { id: 'of nobody' }])
    expect(pass([event('1')], [{ ...webhook, ...more }])).toEqual({ passed: [], routed: ['1'] })
})

it('passes the events of a site to its webhook, and routes those behind one of another site', () => {
  const events = [event('1', { siteId: 's' }), event('2', { siteId: 't' }), event('3', { siteId: 's' })]
  expect(pass(events, [{ ...webhook, siteId: 's' }])).toEqual({ passed: ['1'], routed: ['2', '3'] })
})

it('routes the events of a queue with several webhooks, because one without room would delay the others', () => {
  const subscribers = [
    { ...webhook, siteId: 's' },
    { ...webhook, id: 'x', siteId: 't' },
  ]
  expect(pass([event('1', { siteId: 's' })], subscribers)).toEqual({ passed: [], routed: ['1'] })
})

it('routes an event that the lane refuses, and those behind it', () => {
  accepts = (id) => id !== '2'
  expect(pass([event('1'), event('2'), event('3')])).toEqual({ passed: ['1'], routed: ['2', '3'] })
})

it('lets events wait for the room of a lane, and wakes the router when there is enough', () => {
  rooms.set('w', 1)
  expect(pass([event('1'), event('2'), event('3')])).toEqual({ passed: ['1'], routed: [] })
  expect([backlog.isPassing('a audits'), backlog.roomOf('a audits'), woken]).toEqual([true, 0, 0])
  rooms.set('w', 192)
  awaited.get('w')?.()
  expect([backlog.isPassing('a audits'), backlog.roomOf('a audits'), woken]).toEqual([true, 192, 1])
})

it('reads as many events of a queue as its lane has room for, and any number once they have to be routed', () => {
  expect(backlog.roomOf('a audits')).toBe(Infinity)
  pass([event('1')])
  expect(backlog.roomOf('a audits')).toBe(255)
  rooms.set('w', 63)
  expect([backlog.roomOf('a audits'), backlog.isPassing('a audits')]).toEqual([0, true])
  rooms.delete('w')
  expect([backlog.roomOf('a audits'), backlog.isPassing('a audits')]).toEqual([Infinity, false])
})

it('shares the room of a lane among the backlogs of several topics', () => {
  pass([event('1')])
  pass([event('2', { topic: 'alarms' })])
  rooms.set('w', 192)
  expect(['a audits', 'a alarms'].map((queue) => backlog.roomOf(queue))).toEqual([96, 96])
  backlog.endRound((queue) => queue === 'a audits')
  expect(backlog.roomOf('a audits')).toBe(192)
})

it('routes the rest of a backlog after 15 seconds, and passes on later events once nothing is left', () => {
  pass([event('1')])
  nowMs = 15_001
  expect([pass([event('2')]), backlog.roomOf('a audits')]).toEqual([{ passed: [], routed: ['2'] }, Infinity])
  backlog.endRound((queue) => queue === 'a audits')
  expect(pass([event('3')])).toEqual({ passed: [], routed: ['3'] })
  backlog.endRound(() => false)
  expect([pass([event('4')]), backlog.isPassing('a audits')]).toEqual([{ passed: ['4'], routed: [] }, true])
})
