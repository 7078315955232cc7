import { expect, it } from 'vitest'
import { counted } from './counted.ts'

it('puts the noun into the singular for one only', () => {
  expect([0, 1, 2].map((count) => counted(count, 'device'))).toEqual(['0 devices', '1 device', '2 devices'])
  expect([1, 2].map((count) => counted(count, 'device was', 'devices were'))).toEqual([
    '1 device was',
    '2 devices were',
  ])
})
