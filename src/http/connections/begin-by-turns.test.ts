import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { beginByTurns } from './begin-by-turns.ts'

/** Creates a listener with a clock that advances only while a request is begun. */
function open(costMs: number) {
  let nowMs = 0
  const begun: string[] = []
  const listener = beginByTurns(
    ({ url = '' }) => {
      nowMs += costMs
      begun.push(url)
    },
    () => nowMs,
  )
  const arrive = (url: string): void => {
    const request = Object.assign(new IncomingMessage(new Socket()), { url })
    listener(request, new ServerResponse(request))
  }
  return { begun, arrive }
}

it('begins a request at once, and the next one in the next turn', async () => {
  const { begun, arrive } = open(10)
  arrive('a')
  expect(begun).toEqual(['a'])
  arrive('b')
  expect(begun).toEqual(['a'])
  await nextTurn()
  expect(begun).toEqual(['a', 'b'])
  await nextTurn()
  arrive('c')
  expect(begun).toEqual(['a', 'b', 'c'])
})

it('begins requests for 10 ms of a turn, in the order of their arrival', async () => {
  const { begun, arrive } = open(4)
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  for (const name of names) arrive(name)
  expect(begun).toEqual(names.slice(0, 3))
  await nextTurn()
  expect(begun).toEqual(names.slice(0, 6))
  arrive('h')
  expect(begun).toEqual(names.slice(0, 6))
  await nextTurn()
  expect(begun).toEqual([...names, 'h'])
})

it('begins all requests that cost next to nothing in one turn', () => {
  const { begun, arrive } = open(0)
  const names = Array.from({ length: 1000 }, (_, index) => String(index))
  for (const name of names) arrive(name)
  expect(begun).toEqual(names)
})
