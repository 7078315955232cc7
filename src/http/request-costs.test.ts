import { expect, it } from 'vitest'
import { createRequestCosts } from './request-costs.ts'

function setUp() {
  let cpuMs = 100
  const costs = createRequestCosts(() => cpuMs)
  return { costs, work: (ms: number) => (cpuMs += ms) }
}

it('measures a request that is alone, however much the thread works before and after it', () => {
  const { costs, work } = setUp()
  work(50)
  const end = costs.measure('a')
  work(7)
  expect(end(true)).toBe(7)
  work(50)
})

it('divides the time between requests that run at the same time', () => {
  const { costs, work } = setUp()
  const first = costs.measure('a')
  work(10)
  const second = costs.measure('b')
  work(8)
  expect(first(true)).toBe(14)
  work(3)
  expect(second(true)).toBe(7)
})

it('expects of a request among others what those of its kind took alone', () => {
  const { costs, work } = setUp()
  const alone = costs.measure('cheap')
  work(2)
  alone(true)
  const [other, cheap] = [costs.measure('other'), costs.measure('cheap')]
  work(40)
  expect([cheap(true), other(true)]).toEqual([2, 20])
})

it('follows the cost of a kind', () => {
  const { costs, work } = setUp()
  for (let times = 0; times < 30; times += 1) {
    const end = costs.measure('a')
    work(times < 10 ? 1 : 5)
    end(true)
  }
  const [other, same] = [costs.measure('other'), costs.measure('a')]
  work(100)
  expect(same(true)).toBeCloseTo(5, 1)
  other(true)
})

it('learns nothing from a part of a request', () => {
  const { costs, work } = setUp()
  const part = costs.measure('a')
  work(1)
  expect(part(false)).toBe(1)
  const [other, same] = [costs.measure('other'), costs.measure('a')]
  work(40)
  expect([same(true), other(true)]).toEqual([20, 20])
})
