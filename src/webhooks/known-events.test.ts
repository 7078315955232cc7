import { expect, it } from 'vitest'
import { createKnownEvents } from './known-events.ts'

const event = (id: string, orgId = 'a') => ({ id, orgId, topic: 'audits', webhookId: null, json: null })
const [queue, other] = ['a audits', 'b audits']

it('knows that a queue waits from the announcement of an event until it is deleted', () => {
  const known = createKnownEvents(10)
  known.announce(['1', '2'], [event('1'), event('2')])
  expect([known.isWaiting(queue), known.isWaiting(other), known.has('1'), known.ids()]).toEqual([true, false, true, []])
  expect(known.accept()).toBe(true)
  expect(known.ids()).toEqual(['1', '2'])
  known.delete(['1'])
  expect(known.isWaiting(queue)).toBe(true)
  known.delete(['2'])
  expect([known.isWaiting(queue), known.has('2')]).toEqual([false, false])
})

it('knows events of other threads by their ids only', () => {
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
  expect(known.accept()).toBe(false)
  expect(known.ids()).toEqual([])
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
