import { expect, it } from 'vitest'
import { lockedPauses } from './locked-pauses.ts'

it('doubles the pause from 20 ms to half a second, separately for each wait', () => {
  const next = lockedPauses()
  expect(Array.from({ length: 7 }, next)).toEqual([20, 40, 80, 160, 320, 500, 500])
  expect(lockedPauses()()).toBe(20)
})
