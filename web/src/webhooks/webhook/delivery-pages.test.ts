import { expect, it } from 'vitest'
import { SHOWN, describePages, nextLimit } from './delivery-pages.ts'

it.each([
  { shown: 50, total: 50, hasMore: false, end: 'All are shown.' },
  { shown: 50, total: 51, hasMore: true, end: 'All are shown.' },
  { shown: 1000, total: 1000, hasMore: false, end: 'All are shown.' },
  { shown: 800, total: 5000, hasMore: true, end: 'Only the last 1000 are shown. Filters find older ones.' },
  { shown: 1000, total: 5000, hasMore: false, end: 'Only the last 1000 are shown. Filters find older ones.' },
])('says of $shown of $total whether there are more, and how the list ends', ({ shown, total, ...expected }) => {
  expect(describePages({ shown, total })).toEqual(expected)
})

it('shows twice as many each time, up to those of a page of the API', () => {
  expect([SHOWN, 400, 800, 1000].map(nextLimit)).toEqual([100, 800, 1000, 1000])
})
