import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

/** Creates turns with a clock that advances only when work runs. */
function open() {
  let nowMs = 0
  const turns = createTurns(() => nowMs)
  const done: string[] = []
  const work = (name: string, ms: number) =>
    turns.run(() => {
      nowMs += ms
      done.push(name)
      return name
    })
  return { turns, done, work }
}

test('runs work in order, later than the call, and returns its result', async () => {
  const { done, work } = open()
  const results = ['a', 'b', 'c'].map((name) => work(name, 1))
  expect(done).toEqual([])
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c'])
  expect(done).toEqual(['a', 'b', 'c'])
})

test('yields to other work after 2 ms', async () => {
  const { done, work } = open()
  const all = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => work(name, name === 'f' ? 100 : 0.75)))
  await nextTurn()
  expect(done).toEqual(['a', 'b', 'c'])
  await nextTurn()
  expect(done).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  await all
})

test('fails only the work that fails', async () => {
  const { turns, work } = open()
  const bad = turns.run(() => {
    throw new Error('bad')
  })
  const good = work('good', 1)
  await expect(bad).rejects.toThrow('bad')
  expect(await good).toBe('good')
})
