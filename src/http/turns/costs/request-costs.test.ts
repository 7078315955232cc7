import { expect, it } from 'vitest'
import { createRequestCosts } from './request-costs.ts'
import type { Outcome } from '../completion/request-end.ts'

function setUp(options: Parameters<typeof createRequestCosts>[1] = {}) {
  let cpuMs = 100
  const costs = createRequestCosts(() => cpuMs, options)
  return { costs, work: (ms: number) => (cpuMs += ms) }
}

it('measures a request that is alone, however much the thread works before and after it', () => {
  const { costs, work } = setUp()
  work(50)
  const end = costs.measure('a')
  work(7)
  expect(end('whole')).toBe(7)
  work(50)
})

it('subtracts the known costs of requests that end meanwhile', () => {
  const { costs, work } = setUp()
  const alone = costs.measure('cheap')
  work(2)
  alone('whole')
  const [other, cheap] = [costs.measure('other'), costs.measure('cheap')]
  work(1)
  cheap('whole')
  work(40)
  expect(other('whole')).toBeCloseTo(39, 0)
})

it('does not charge a cheap request for an expensive one that runs beside it', () => {
  const { costs, work } = setUp()
  for (const [kind, ms] of [
    ['page', 30],
    ['cheap', 2],
  ] as const) {
    const alone = costs.measure(kind)
    work(ms)
    alone('whole')
  }
  const [page, cheap] = [costs.measure('page'), costs.measure('cheap')]
  work(17)
  expect(cheap('whole')).toBe(2)
  work(15)
  expect(page('whole')).toBeCloseTo(30)
})

it('does not charge a cheap request for a queue of expensive ones before it', () => {
  const { costs, work } = setUp()
  const alone = costs.measure('page')
  work(25)
  alone('whole')
  const pages = [costs.measure('page'), costs.measure('page'), costs.measure('page')]
  const cheap = costs.measure('cheap')
  for (const end of pages) {
    work(25)
    expect(end('whole')).toBeCloseTo(25)
  }
  work(2)
  expect(cheap('whole')).toBeCloseTo(2)
})

it('does not take a kind for expensive because one of its requests waited', () => {
  const { costs, work } = setUp()
  const alone = costs.measure('cheap')
  work(2)
  alone('whole')
  const [part, cheap] = [costs.measure('unknown'), costs.measure('cheap')]
  work(40)
  part('cut')
  expect(cheap('whole')).toBe(2)
})

it('charges no request for more than twice an equal share', () => {
  const { costs, work } = setUp()
  for (const kind of ['a', 'b', 'c', 'd']) {
    const alone = costs.measure(kind)
    work(1)
    alone('whole')
  }
  const [a, ...others] = ['a', 'b', 'c', 'd'].map((kind) => costs.measure(kind))
  work(40)
  expect(a?.('whole')).toBe(20)
  for (const end of others) end('cut')
})

it('divides the cost of unknown kinds that run at the same time, so that none pays for the others', () => {
  const { costs, work } = setUp({ dividesUnknown: true })
  const kinds = ['a', 'b', 'c', 'd']
  const ends = kinds.map((kind) => costs.measure(kind))
  work(400)
  expect(ends.map((end) => end('whole'))).toEqual([100, 100, 100, 100])
  // Alone, each kind shows what it really costs.
  for (const [index, kind] of kinds.entries()) {
    const end = costs.measure(kind)
    work(10 * index)
    expect(end('whole')).toBe(10 * index)
  }
})

it('follows the cost of a kind', () => {
  const { costs, work } = setUp()
  for (let times = 0; times < 30; times += 1) {
    const end = costs.measure('a')
    work(times < 10 ? 1 : 5)
    end('whole')
  }
  const [other, same] = [costs.measure('other'), costs.measure('a')]
  work(100)
  expect(same('whole')).toBeCloseTo(5, 0)
  expect(other('whole')).toBeCloseTo(95, 0)
})

it('learns nothing from a part of a request', () => {
  const { costs, work } = setUp()
  const part = costs.measure('a')
  work(1)
  expect(part('cut')).toBe(1)
  const [other, same] = [costs.measure('other'), costs.measure('a')]
  work(40)
  other('cut')
  work(1)
  expect(same('whole')).toBe(2)
})

it('takes refused requests for a kind of their own', () => {
  const { costs, work } = setUp()
  const measure = (kind: string, ms: number, outcome: Outcome): number => {
    const end = costs.measure(kind)
    work(ms)
    return end(outcome)
  }
  expect(measure('page', 1, 'refused')).toBe(1)
  expect(costs.averageMs('page')).toBeUndefined()
  expect(measure('page', 30, 'whole')).toBe(30)
  for (let times = 0; times < 20; times += 1) expect(measure('page', 1, 'refused')).toBe(1)
  expect(costs.averageMs('page')).toBe(30)
  // An expensive one costs its caller what it has used.
  expect(measure('page', 10, 'refused')).toBe(10)
})

it('adds what a request costs other processes to its kind, and to no request beside it', () => {
  const { costs, work } = setUp()
  const [page, other] = [costs.measure('page'), costs.measure('other')]
  work(2)
  expect(page('whole', 30)).toBeCloseTo(32)
  expect(costs.averageMs('page')).toBeCloseTo(32)
  work(4)
  expect(other('whole')).toBeLessThanOrEqual(4)
  expect(costs.averageMs('other')).toBeLessThanOrEqual(4)
})

it('moves the cost of a kind between processes without counting it twice', () => {
  const { costs, work } = setUp()
  const alone = costs.measure('page')
  work(30)
  alone('whole')
  for (let times = 0; times < 40; times += 1) {
    const end = costs.measure('page')
    work(1)
    end('whole', 29)
    expect(costs.averageMs('page')).toBeCloseTo(30)
  }
  const refused = costs.measure('page')
  refused('refused', 500)
  expect(costs.averageMs('page')).toBeCloseTo(30)
})
