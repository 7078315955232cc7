import { expect, it } from 'vitest'
import { spanSites } from './site-spans.ts'

it('places the sites in the time that all of them take', () => {
  const spans = spanSites(
    [
      { siteId: 'a', start: 100, end: 150 },
      { siteId: 'b', start: 150, end: undefined },
      { siteId: 'c', start: undefined, end: undefined },
    ],
    200,
  )
  expect([...spans]).toEqual([
    ['a', { from: 0, to: 0.5 }],
    ['b', { from: 0.5, to: 1 }],
  ])
})

it('shows a site that begins later at the end', () => {
  const spans = spanSites(
    [
      { siteId: 'a', start: 0, end: undefined },
      { siteId: 'b', start: 1000, end: undefined },
    ],
    10,
  )
  expect(spans.get('a')).toEqual({ from: 0, to: 0.01 })
  expect(spans.get('b')).toEqual({ from: 0.99, to: 1 })
})

it('has nothing to place before anything has begun', () => {
  expect(spanSites([], 10).size).toBe(0)
})
