import { expect, it } from 'vitest'
import { claimRefusalsIn, isUnknownCode } from './claim-refusals.ts'

it('pairs refused codes with their reasons', () => {
  expect(claimRefusalsIn({ detail: 'x', error: ['A', 'B'], reason: ['not found', 'invalid claim code'] })).toEqual([
    { code: 'A', reason: 'not found' },
    { code: 'B', reason: 'invalid claim code' },
  ])
  expect(claimRefusalsIn({ error: ['A'] })).toEqual([{ code: 'A', reason: 'refused' }])
})

it('finds none in other answers', () => {
  for (const body of [null, 'text', {}, { error: 'x' }, { reason: ['Invalid field'] }])
    expect(claimRefusalsIn(body)).toEqual([])
})

it('tells unknown codes from other refused ones', () => {
  expect(isUnknownCode({ code: 'A', reason: 'not found' })).toBe(true)
  expect(isUnknownCode({ code: 'A', reason: 'invalid claim code' })).toBe(false)
})
