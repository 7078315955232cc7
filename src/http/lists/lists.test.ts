import { expect, it } from 'vitest'
import { nextPage, parsePage } from './lists.ts'

it('takes zero and nothing for the default, and a thousand rows at most', () => {
  expect(parsePage({})).toEqual({ limit: 100, page: 1 })
  expect(parsePage({ limit: 0, page: 0 })).toEqual({ limit: 100, page: 1 })
  expect(parsePage({ limit: 5000, page: 7 })).toEqual({ limit: 1000, page: 7 })
})

it('the next page keeps the query and names the limit that holds for every page', () => {
  expect(nextPage('/api/v1/orgs/1/logs?message=a%26b&limit=1000&page=2', { limit: 125, page: 2 })).toBe(
    '/api/v1/orgs/1/logs?message=a%26b&limit=125&page=3',
  )
  expect(nextPage('/api/v1/orgs/1/logs', { limit: 100, page: 1 })).toBe('/api/v1/orgs/1/logs?limit=100&page=2')
})

it('the next page has other values of parameters in place of those that were sent', () => {
  expect(
    nextPage('/logs?end=now&start=-1d&type=a', { limit: 10, page: 1 }, { start: '0', end: '1700000000.123' }),
  ).toBe('/logs?end=1700000000.123&start=0&type=a&limit=10&page=2')
})
