import { expect, it } from 'vitest'
import { eachInTurn } from './each-in-turn.ts'

it('runs every part once, in order, and none before the former one has ended', async () => {
  const log: string[] = []
  const run = async (part: number): Promise<void> => {
    log.push(`begin ${part}`)
    await Promise.resolve()
    log.push(`end ${part}`)
  }
  await eachInTurn([1, 2], run, () => log.push('error'))
  expect(log).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2'])
})

it('reports each failure, goes on with the next part, and fails in the end with the first one', async () => {
  const ran: number[] = []
  const reported: [unknown, number][] = []
  const failure = (part: number) => new Error(`part ${part}`)
  const run = (part: number): Promise<void> => {
    ran.push(part)
    return part % 2 === 0 ? Promise.reject(failure(part)) : Promise.resolve()
  }
  const ended = eachInTurn([1, 2, 3, 4, 5], run, (error, part) => reported.push([error, part]))
  await expect(ended).rejects.toThrow(new Error('2 of 5 parts failed', { cause: failure(2) }))
  expect(ran).toEqual([1, 2, 3, 4, 5])
  expect(reported).toEqual([2, 4].map((part) => [failure(part), part]))
})
