import { expect, it } from 'vitest'
import { fieldIn, fieldPathIn } from './problem.ts'

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
