import { describe, expect, it } from 'vitest'
import { countByTurn } from '../../../test/support/peers/arriving.ts'
import { nextTurn } from './next-turn.ts'
import { byNumber, byTime, createSlices } from './slices.ts'

describe('by number', () => {
  it('runs a bounded number of pieces in a turn of the event loop, all of them in order', async () => {
    const slices = createSlices({ limit: 3, spend: byNumber })
    const ran: number[] = []
    for (let index = 0; index < 8; index += 1) slices.run(() => void ran.push(index))
    expect(ran).toEqual([])
    expect(await countByTurn(ran, 4)).toEqual([3, 3, 2, 0])
    expect(ran).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('prolongs no turn by work that adds work', async () => {
    const slices = createSlices({ limit: 3, spend: byNumber })
    const ran: number[] = []
    const next = (left: number): void => {
      ran.push(left)
      if (left > 0) slices.run(() => next(left - 1))
    }
    slices.run(() => next(2))
    expect(await countByTurn(ran, 4)).toEqual([1, 1, 1, 0])
  })
})

describe('by time, at once', () => {
  /** A clock that advances only while a piece runs. */
  function open(costMs: number) {
    let nowMs = 0
    const ran: string[] = []
    const slices = createSlices({ limit: 10, spend: byTime(() => nowMs), atOnce: true })
    const add = (name: string): void =>
      slices.run(() => {
        nowMs += costMs
        ran.push(name)
      })
    return { ran, add }
  }

  it('runs a piece at once, and the next one in the next turn if the first took the time of one', async () => {
    const { ran, add } = open(10)
    add('a')
    expect(ran).toEqual(['a'])
    add('b')
    expect(ran).toEqual(['a'])
    await nextTurn()
    expect(ran).toEqual(['a', 'b'])
    await nextTurn()
    add('c')
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  it('runs pieces for the time of a turn, in order', async () => {
    const { ran, add } = open(4)
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const name of names) add(name)
    expect(ran).toEqual(names.slice(0, 3))
    await nextTurn()
    expect(ran).toEqual(names.slice(0, 6))
    add('h')
    expect(ran).toEqual(names.slice(0, 6))
    await nextTurn()
    expect(ran).toEqual([...names, 'h'])
  })

  it('runs all pieces that take next to no time in one turn', () => {
    const { ran, add } = open(0)
    const names = Array.from({ length: 1000 }, (_, index) => String(index))
    for (const name of names) add(name)
    expect(ran).toEqual(names)
  })
})

it('runs the oldest pieces at once if too many wait', async () => {
  const slices = createSlices({ limit: 3, spend: byNumber, maxWaiting: 2 })
  const ran: number[] = []
  for (let index = 0; index < 6; index += 1) slices.run(() => void ran.push(index))
  expect(ran).toEqual([0, 1, 2, 3])
  await nextTurn()
  expect(ran).toEqual([0, 1, 2, 3, 4, 5])
})
