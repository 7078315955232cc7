import { expect, it } from 'vitest'
import { parseAnswerSearch, parseSignInSearch } from './provider-answer.ts'

it('knows an answer by both of its parts', () => {
  expect(parseAnswerSearch({ provider: 'google', code: 'c', other: 1 })).toEqual({ provider: 'google', code: 'c' })
  expect(parseAnswerSearch({ provider: 'google' })).toEqual({})
  expect(parseAnswerSearch({ provider: ['google'], code: 'c' })).toEqual({})
})

it('keeps where to go after the sign-in', () => {
  expect(parseSignInSearch({ return: '/orgs/1', other: true })).toEqual({ return: '/orgs/1' })
  expect(parseSignInSearch({ return: 7 })).toEqual({})
})
