import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createKnownEvents } from './known-events.ts'

const event = (id: string, orgId = 'a') => ({ id, orgId, topic: 'audits' })
const [queue, other] = ['a audits', 'b audits']

it('knows that a queue waits from the announcement of an event until it is deleted', () => {
  const known = createKnownEvents(10)
  known.announce(['1', '2'], [event('1'), event('2')])
  expect([known.isWaiting(queue), known.isWaiting(other), known.has('1'), known.ids()]).toEqual([true, false, true, []])
  known.accept()
  expect(known.hasDropped()).toBe(false)
  expect(known.ids()).toEqual(['1', '2'])
  known.delete(['1'])
  expect([known.has('1'), known.has('2'), known.isWaiting(queue)]).toEqual([false, true, true])
  known.delete(['2'])
  expect([known.isWaiting(queue), known.has('2')]).toEqual([false, false])
})

it('knows that nothing waits any more when an event is withdrawn before the next round', () => {
  const known = createKnownEvents(10)
  expect(known.hasAnnounced()).toBe(false)
  known.announce(['1'], [event('1')])
  expect(known.hasAnnounced()).toBe(true)
  known.withdraw('1')
  expect([known.hasAnnounced(), known.isWaiting(queue), known.has('1')]).toEqual([false, false, false])
})

it('knows events by their ids only if nothing else was announced', () => {
  const known = createKnownEvents(10)
  known.announce(['1'], [])
  known.accept()
  expect([known.ids(), known.isWaiting(queue)]).toEqual([['1'], false])
  known.delete(['1'])
  expect(known.ids()).toEqual([])
})

it('counts an event once, however often it is announced', () => {
  const known = createKnownEvents(10)
  for (let time = 0; time < 3; time += 1) known.announce(['1'], [event('1')])
  known.accept()
  known.announce(['1'], [event('1')])
  known.accept()
  known.delete(['1'])
  expect(known.isWaiting(queue)).toBe(false)
})

it('takes queues of dropped events as waiting until a search that began later is complete', () => {
  const known = createKnownEvents(1)
  known.beginSearch()
  known.announce(['1', '2'], [event('1'), event('2')])
  known.accept()
  expect([known.hasDropped(), known.ids(), known.isRouting(queue)]).toEqual([true, [], true])
  known.endSearch(true)
  expect(known.isWaiting(queue)).toBe(true)
  known.beginSearch()
  expect(known.isWaiting(queue)).toBe(true)
  known.endSearch(false)
  expect(known.isWaiting(queue)).toBe(true)
  known.beginSearch()
  known.endSearch(true)
  expect(known.isWaiting(queue)).toBe(false)
})

it('takes the oldest events of each queue for a round that is too small for all', () => {
  const known = createKnownEvents(1000)
  const ids = Array.from({ length: 500 }, (_, index) => `a${String(index).padStart(3, '0')}`)
  known.announce(
    ids.toReversed(),
    ids.map((id) => event(id)),
  )
  known.announce(['b0'], [event('b0', 'b')])
  known.accept()
  expect(known.idsOfRound({ limit: 200, turn: 0 })).toEqual([...ids.slice(0, 100), 'b0'])
  known.delete(ids.slice(0, 400))
  expect(known.idsOfRound({ limit: 200, turn: 1 }).toSorted()).toEqual([...ids.slice(400), 'b0'])
})

it('takes the events beside a backlog without it, unless their queue is unknown', () => {
  const known = createKnownEvents(1000)
  const ids = Array.from({ length: 500 }, (_, index) => `a${String(index).padStart(3, '0')}`)
  known.announce(
    ids,
    ids.map((id) => event(id)),
  )
  known.accept()
  expect(known.shortIdsOfRound(200)).toBeNull()
  known.announce(['b0', 'b1'], [event('b0', 'b'), event('b1', 'b')])
  known.accept()
  expect(known.shortIdsOfRound(200)).toEqual(['b0', 'b1'])
  known.announce(['c0'], [])
  known.accept()
  expect(known.shortIdsOfRound(200)).toBeNull()
})

it('takes no more events of a queue than there is room for', () => {
  const known = createKnownEvents(1000)
  const ids = Array.from({ length: 300 }, (_, index) => `a${String(index).padStart(3, '0')}`)
  const all = [...ids.map((id) => event(id)), event('b0', 'b'), event('b1', 'b')]
  known.announce(
    all.map(({ id }) => id),
    all,
  )
  known.announce(['c0'], [])
  known.accept()
  const roomOf = (room: number) => (of: string) => (of === queue ? room : Infinity)
  expect(known.idsOfRound({ limit: 1000, turn: 0, roomOf: roomOf(64) })).toEqual([
    ...ids.slice(0, 64),
    'b0',
    'b1',
    'c0',
  ])
  expect(known.idsOfRound({ limit: 1000, turn: 0, roomOf: roomOf(0) })).toEqual(['b0', 'b1', 'c0'])
  known.delete(['c0'])
  expect(known.shortIdsOfRound(1000, (of) => (of === other ? 1 : Infinity))).toEqual(['b0'])
  expect(known.shortIdsOfRound(1000, (of) => (of === other ? 0 : Infinity))).toBeNull()
})

it('plans the events of the next round behind those of the running one', () => {
  const idsOf = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => name + String(index).padStart(3, '0'))
  const known = createKnownEvents(1000)
  const [a, b] = [idsOf('a', 500), idsOf('b', 120)]
  const all = [...a.map((id) => event(id)), ...b.map((id) => event(id, 'b'))]
  known.announce([...a, ...b], all)
  known.accept()
  const [first, later] = [
    { limit: 200, turn: 0 },
    { limit: 200, turn: 1 },
  ]
  const ids = known.idsOfRound(first)
  const next = known.idsOfRound({ ...later, after: ids })
  expect(ids).toEqual([...a.slice(0, 100), ...b.slice(0, 100)])
  expect(next).toEqual([...a.slice(100, 200), ...b.slice(100)])
  known.delete(ids)
  expect(known.idsOfRound(later)).toEqual(next)
  known.delete(a.slice(0, 400))
  // The rest fits into one round.
  expect(known.idsOfRound({ ...later, after: a.slice(400, 450) }).toSorted()).toEqual([
    ...a.slice(450),
    ...b.slice(100),
  ])
})

it('keeps the order of events that are announced in another one', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(999), { minLength: 2 }),
      fc.array(fc.nat(3)),
      fc.nat(20),
      (numbers, gaps, gone) => {
        const known = createKnownEvents(1000)
        const ids = numbers.map((number) => String(number).padStart(3, '0'))
        const left = new Set<string>()
        const parts = gaps.map((gap, index) => ids.slice(index * 3, index * 3 + gap))
        for (const part of [...parts, ids]) {
          known.announce(
            part,
            part.map((id) => event(id)),
          )
          known.accept()
          for (const id of part) left.add(id)
          if (left.size < 2) continue
          expect(known.idsOfRound({ limit: 1, turn: 0 })).toEqual([...left].toSorted().slice(0, 100))
          const done = [...left].slice(0, gone)
          known.delete(done)
          for (const id of done) left.delete(id)
        }
      },
    ),
  )
})

it('keeps a limited number of events over several rounds', () => {
  const known = createKnownEvents(2)
  known.announce(['1', '2'], [event('1'), event('2')])
  known.accept()
  expect([known.hasDropped(), known.size()]).toEqual([false, 2])
  known.announce(['3'], [event('3')])
  known.accept()
  expect([known.hasDropped(), known.size()]).toEqual([true, 0])
})

it('keeps a limited number of events while a round takes long', () => {
  const known = createKnownEvents(2)
  known.announce(['0'], [event('0')])
  known.accept()
  known.announce(['1', '2', '3'], [event('1'), event('2'), event('3')])
  // Those of the running round stay.
  expect([known.hasDropped(), known.ids(), known.has('1'), known.has('3')]).toEqual([true, ['0'], false, true])
  known.delete(['0'])
  known.accept()
  expect([known.ids(), known.isWaiting(queue)]).toEqual([[], true])
  known.beginSearch()
  known.endSearch(true)
  expect([known.hasDropped(), known.isWaiting(queue)]).toEqual([false, false])
})
