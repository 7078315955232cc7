import { expect, it } from 'vitest'
import { pendingText } from './webhook.ts'

it('says of a number of waiting messages that is not exact that it is not', () => {
  expect(pendingText({ pending: 1001, pending_exact: true })).toBe('1,001')
  expect(pendingText({ pending: 1001, pending_exact: false })).toBe('about 1,001')
})
