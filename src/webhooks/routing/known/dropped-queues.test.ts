import { expect, it } from 'vitest'
import { createDroppedQueues } from './dropped-queues.ts'

it('has a queue until a complete search has ended that began after its event was dropped', () => {
  const dropped = createDroppedQueues()
  dropped.add('a')
  dropped.beginSearch()
  dropped.add('b')
  dropped.endSearch(true)
  expect([dropped.has('a'), dropped.has('b'), dropped.hasNew()]).toEqual([false, true, true])
  dropped.beginSearch()
  dropped.endSearch(false)
  expect([dropped.has('b'), dropped.hasNew()]).toEqual([true, false])
})

it('needs a search for an event whose queue is unknown', () => {
  const dropped = createDroppedQueues()
  dropped.add(null)
  expect(dropped.hasNew()).toBe(true)
})
