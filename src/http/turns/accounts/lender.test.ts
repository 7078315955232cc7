import { expect, it } from 'vitest'
import { createLender } from './lender.ts'

it('lends one to each account, and none while all are lent', () => {
  const lender = createLender(['only', 'other'])
  const first = lender.claim('a')
  expect(lender.claim('a')).toBeUndefined()
  const second = lender.claim('b')
  expect(new Set([first?.value, second?.value])).toEqual(new Set(['only', 'other']))
  expect(lender.claim('c')).toBeUndefined()
  first?.release()
  expect(lender.claim('b')).toBeUndefined()
  expect(lender.claim('c')?.value).toBe(first?.value)
})
