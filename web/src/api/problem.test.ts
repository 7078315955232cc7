import { expect, it } from 'vitest'
import { detailOf, fieldIn, fieldPathIn } from './problem.ts'

it.each([
  ['Invalid field canary_phases.1: must be a number', 'canary_phases'],
  ['Invalid field version: names no image', 'version'],
  ['There is no such organization', null],
])('finds the field of %j', (detail, field) => {
  expect(fieldIn(detail)).toBe(field)
})

it('finds the path of a field within a record', () => {
  expect(fieldPathIn('Invalid field password_policy.min_length: must be at least 8')).toBe('password_policy.min_length')
  expect(fieldPathIn('The name is taken')).toBeNull()
})

it('says of a missing session what people can do, and all else in the words of the server', () => {
  const missing = { detail: 'Authentication credentials were not provided.' }
  expect(detailOf(missing, 401)).toBe('Your session had ended, and nothing was changed. Try again.')
  expect(detailOf({ detail: 'The name is taken' }, 400)).toBe('The name is taken')
  expect([detailOf(null, 500), detailOf(null, 0)]).toEqual(['The server answered 500.', 'The server does not answer.'])
})
