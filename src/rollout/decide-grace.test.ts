import { expect, test } from 'vitest'
import { isDisturbed } from './decide-grace.ts'

test.each([
  [{ total: 0, moved: 0 }, false],
  [{ total: 2, moved: 2 }, false],
  [{ total: 3, moved: 3 }, true],
  [{ total: 10, moved: 3 }, true],
  [{ total: 11, moved: 3 }, false],
  [{ total: 1000, moved: 299 }, false],
  [{ total: 1000, moved: 300 }, true],
])('%j is a disturbance: %s', (bystanders, disturbed) => {
  expect(isDisturbed(bystanders)).toBe(disturbed)
})
