import { expect, it } from 'vitest'
import { createKnownQueues } from './known-queues.ts'

function queuesWith(counts: Readonly<Record<string, number>>) {
  const queues = createKnownQueues()
  for (const [queue, count] of Object.entries(counts))
    for (let index = 1; index <= count; index += 1) queues.add(`${queue}${index}`, queue)
  return queues
}

it('forgets a queue with its last event', () => {
  const queues = queuesWith({ a: 2 })
  expect([queues.delete('a1'), queues.hasQueue('a'), queues.size()]).toEqual(['a', true, 1])
  expect([queues.delete('a2'), queues.hasQueue('a'), queues.size()]).toEqual(['a', false, 0])
  expect(queues.delete('a2')).toBeUndefined()
  queues.add('b1', 'b')
  queues.clear()
  expect([queues.has('b1'), queues.hasQueue('b'), queues.ids()]).toEqual([false, false, []])
})

it('plans no more events of a queue than there is room, and none of the round before', () => {
  const queues = queuesWith({ a: 3, b: 3 })
  const roomOf = (queue: string) => (queue === 'a' ? 1 : Infinity)
  expect(queues.idsOfRound({ limit: 200, turn: 0, roomOf })).toEqual(['a1', 'b1', 'b2', 'b3'])
  expect(queues.idsOfRound({ limit: 200, turn: 0, roomOf, after: ['a1', 'b1'] })).toEqual(['a2', 'b2', 'b3'])
})

it('plans a short round only if it knows the queue of each event', () => {
  const queues = queuesWith({ a: 2, b: 500 })
  expect(queues.shortIdsOfRound(100)).toEqual(['a1', 'a2'])
  queues.add('c1', null)
  expect(queues.shortIdsOfRound(100)).toBeNull()
})
