import { expect, it } from 'vitest'
import { orderSites } from './order-sites.ts'

it('puts sites with devices away first', () => {
  const sites = ['Berlin', 'Tokyo', 'Oslo', 'Lima'].map((name) => ({ id: name, label: name, timezone: 'UTC' }))
  const all = new Map([
    ['Berlin', 10],
    ['Tokyo', 5],
    ['Oslo', 7],
  ])
  const away = new Map([
    ['Tokyo', 1],
    ['Oslo', 3],
  ])
  expect(orderSites(sites, all, away).map(({ site, total, away: down }) => [site.label, total, down])).toEqual([
    ['Oslo', 7, 3],
    ['Tokyo', 5, 1],
    ['Berlin', 10, 0],
    ['Lima', 0, 0],
  ])
})
