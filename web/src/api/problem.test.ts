import { expect, it } from 'vitest'
import { fieldIn } from './problem.ts'

it.each([
  ['Invalid field canary_phases.1: must be a number', 'canary_phases'],
  ['Invalid field version: names no image', 'version'],
  ['There is no such organization', null],
])('finds the field of %j', (detail, field) => {
  expect(fieldIn(detail)).toBe(field)
})
