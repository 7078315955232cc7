import { expect, it } from 'vitest'
import { codesIn, macsIn, parseClaimSearch, textAfterClaim } from './claim-search.ts'

it('keeps the devices of an address, and nothing else in it', () => {
  expect(parseClaimSearch({ macs: '02516e000001,02516e000002', other: 1 })).toEqual({
    macs: '02516e000001,02516e000002',
  })
  expect(parseClaimSearch({ macs: 112233445566 })).toEqual({ macs: '112233445566' })
  expect(parseClaimSearch({ macs: '<script>' })).toEqual({})
  expect(parseClaimSearch({ macs: ['02516e000001'] })).toEqual({})
  expect(macsIn(undefined)).toEqual([])
})

it('finds claim codes however they are separated, each once', () => {
  expect(codesIn(' ABC-DEF\nGHI, JKL;;ABC-DEF\t')).toEqual(['ABC-DEF', 'GHI', 'JKL'])
  expect(codesIn('')).toEqual([])
})

it('keeps the refused codes and those that were typed meanwhile', () => {
  expect(textAfterClaim('ABC DEF GHI', ['ABC', 'DEF'], ['DEF'])).toBe('DEF\nGHI')
  expect(textAfterClaim('ABC', ['ABC'], [])).toBe('')
})
