import { expect, it } from 'vitest'
import { filtersOf, inventoryQuery, parseDeviceSearch } from './device-search.ts'

it('keeps the filters that it knows', () => {
  expect(parseDeviceSearch({ text: 'hall', status: '', version: 3, sort: '-name', other: 'x', model: ['y'] })).toEqual({
    text: 'hall',
    version: '3',
    sort: '-name',
  })
  expect(parseDeviceSearch({ sort: 'password' })).toEqual({})
})

it('asks for every type by default', () => {
  expect(inventoryQuery({ text: 'hall', site: 's' }, 2)).toEqual({
    text: 'hall',
    type: 'all',
    site_id: 's',
    sort: 'name',
    limit: 100,
    page: 2,
  })
  expect(inventoryQuery({ type: 'teapot' }, 1).type).toBe('all')
})

it('separates filters from the sort order and the columns', () => {
  expect(filtersOf({ text: 'ap', sort: '-mac', columns: 'mac' })).toEqual({ text: 'ap' })
  expect(inventoryQuery({ text: 'ap', columns: 'mac' }, 1)).not.toHaveProperty('columns')
})
