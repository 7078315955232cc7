import { expect, it } from 'vitest'
import { SHOWN, nextLimit } from './alarm-choices.ts'

it('shows more alarms in two steps', () => {
  const second = nextLimit(SHOWN) ?? 0
  expect(second).toBe(100)
  expect(nextLimit(second)).toBe(1000)
  expect(nextLimit(1000)).toBeNull()
})
