import { expect, it } from 'vitest'
import { SHOWN, nextLimit, showText } from './alarm-choices.ts'

it('shows more alarms in two steps', () => {
  const second = nextLimit(SHOWN) ?? 0
  expect(second).toBe(100)
  expect(nextLimit(second)).toBe(1000)
  expect(nextLimit(1000)).toBeNull()
})

it('says how many it will show', () => {
  expect(showText(100, 400)).toBe('Show 100 of 400')
  expect(showText(1000, 400)).toBe('Show all 400')
  expect(showText(1000, 4000)).toBe('Show 1,000 of 4,000')
})
