import fc from 'fast-check'
import { expect, it } from 'vitest'
import { planPortions, planShort } from './plan-portions.ts'

it('gives each queue its share, if that fills a message', () => {
  expect(planPortions([5000, 3, 5000], { limit: 1000, turn: 0 })).toEqual([334, 3, 334])
})

it('divides a round among the queues that have events', () => {
  expect(planPortions([0, 5000, 0], { limit: 1000, turn: 0 })).toEqual([0, 1000, 0])
})

it('fills messages of a few queues, and takes all events of queues that have few', () => {
  const waiting = [500, 2, 500, 500, 500, 7]
  const portions = [0, 1, 2, 3].map((turn) => planPortions(waiting, { limit: 60, turn }))
  expect(portions).toEqual([
    [100, 2, 0, 0, 0, 7],
    [0, 2, 100, 0, 0, 7],
    [0, 2, 0, 100, 0, 7],
    [0, 2, 0, 0, 100, 7],
  ])
})

it('stays near the limit, and serves every queue within as many rounds as there are queues', () => {
  const queues = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(queues, fc.integer({ min: 100, max: 1000 }), fc.nat(1000), (waiting, limit, first) => {
      const rounds = waiting.map((_, round) => planPortions(waiting, { limit, turn: first + round }))
      for (const portions of rounds) {
        const sum = portions.reduce((all, portion) => all + portion, 0)
        expect(sum).toBeGreaterThan(0)
        expect(sum).toBeLessThanOrEqual(limit + waiting.length + 100)
        for (const [queue, portion] of portions.entries()) expect(portion).toBeLessThanOrEqual(waiting[queue] ?? 0)
      }
      expect(waiting.every((_, queue) => rounds.some((portions) => (portions[queue] ?? 0) > 0))).toBe(true)
    }),
  )
})

it('plans a round without a backlog for the queues beside it that have few events', () => {
  expect(planShort([5000, 3, 11, 1], 1000)).toEqual([0, 3, 0, 1])
  expect(planShort([5000, 11], 1000)).toBeNull()
  expect(planShort([3, 1], 1000)).toBeNull()
  expect(planShort([5000, ...Array.from({ length: 60 }, () => 10)], 1000)).toBeNull()
})
