import { expect, it } from 'vitest'
import { parseTargetSearch } from './target-search.ts'

it('keeps what the page knows', () => {
  expect(parseTargetSearch({ state: 'failed', cause: 'health', at: 's', device: 'aa', site: 's', map: 'm' })).toEqual({
    state: 'failed',
    cause: 'health',
    at: 's',
    device: 'aa',
    site: 's',
    map: 'm',
  })
  expect(parseTargetSearch({ state: 'lost', cause: '', device: {} })).toEqual({})
})

it('reads a MAC address of digits', () => {
  expect(parseTargetSearch({ device: 112233445566 })).toEqual({ device: '112233445566' })
})
