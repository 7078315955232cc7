import { expect, test } from 'vitest'
import { type WakeName, type WokenRow, createWakes } from './wakes.ts'

type Heard = [WakeName, string[]][]

function listening() {
  const wakes = createWakes()
  const heard: Heard = []
  for (const name of ['commands', 'rollouts'] as const) wakes.on(name, (ids) => heard.push([name, [...ids]]))
  return { wakes, heard }
}

/** Connects two threads by channels that deliver immediately. */
function connect(here: ReturnType<typeof createWakes>, there: ReturnType<typeof createWakes>) {
  const fromHere = here.connect((...wake) => fromThere.receive(...wake))
  const fromThere = there.connect((...wake) => fromHere.receive(...wake))
  return fromHere
}

test('a wake reaches the listeners of both threads, once each, with its ids', () => {
  const here = listening()
  const there = listening()
  connect(here.wakes, there.wakes)
  here.wakes.wake('commands', new Set(['a', 'b']))
  there.wakes.wake('rollouts')
  const heard: Heard = [
    ['commands', ['a', 'b']],
    ['rollouts', []],
  ]
  expect(here.heard).toEqual(heard)
  expect(there.heard).toEqual(heard)
})

test('a wake passes the rows that the waker knows to the other thread', () => {
  const [here, there] = [createWakes(), createWakes()]
  connect(here, there)
  const heard: (readonly WokenRow[])[] = []
  there.on('commands', (_ids, rows) => heard.push(rows))
  here.wake('commands', ['a', 'b'], [{ id: 'a' }])
  expect(heard).toEqual([[{ id: 'a' }]])
})

test('a wake goes on to further threads', () => {
  const [first, second, third] = [listening(), listening(), listening()]
  connect(first.wakes, second.wakes)
  connect(second.wakes, third.wakes)
  first.wakes.wake('commands', ['a'])
  third.wakes.wake('rollouts', ['b'])
  for (const { heard } of [first, second, third])
    expect(heard).toEqual([
      ['commands', ['a']],
      ['rollouts', ['b']],
    ])
})

test('hears nothing of a thread that is disconnected', () => {
  const here = listening()
  const there = listening()
  connect(here.wakes, there.wakes).disconnect()
  here.wakes.wake('commands')
  expect([here.heard.length, there.heard.length]).toEqual([1, 0])
})

test('a thread gets only the wakes that it listens to, once it has named them', () => {
  const [here, there] = [createWakes(), listening()]
  const sent: WakeName[] = []
  const peer = here.connect((name, ids) => {
    sent.push(name)
    there.wakes.wake(name, ids)
  })
  here.wake('outbox')
  peer.limitTo(there.wakes.listened())
  for (const name of ['outbox', 'commands', 'deliveries', 'rollouts'] as const) here.wake(name, ['a'])
  expect(sent).toEqual(['outbox', 'commands', 'rollouts'])
  expect(there.heard).toEqual([
    ['commands', ['a']],
    ['rollouts', ['a']],
  ])
})
