import { expect, test } from 'vitest'
import { countByTurn } from '../../../test/support/peers/arriving.ts'
import { spreadOverTurns } from './spread.ts'

test('a turn of the event loop runs a bounded number of pieces, all of them in order', async () => {
  const spread = spreadOverTurns(3)
  const ran: number[] = []
  for (let index = 0; index < 8; index += 1) spread.run(() => void ran.push(index))
  expect(ran).toEqual([])
  expect(await countByTurn(ran, 4)).toEqual([3, 3, 2, 0])
  expect(ran).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

test('work that adds work does not prolong its turn', async () => {
  const spread = spreadOverTurns(3)
  const ran: number[] = []
  const next = (left: number): void => {
    ran.push(left)
    if (left > 0) spread.run(() => next(left - 1))
  }
  spread.run(() => next(2))
  expect(await countByTurn(ran, 4)).toEqual([1, 1, 1, 0])
})
