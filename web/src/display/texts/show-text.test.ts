import { expect, it } from 'vitest'
import { showText } from './show-text.ts'

it('says how many a button will show', () => {
  expect(showText(100, 400)).toBe('Show 100 of 400')
  expect(showText(1000, 400)).toBe('Show all 400')
  expect(showText(1000, 4000)).toBe('Show 1,000 of 4,000')
})
