import { expect, it } from 'vitest'
import { pendingText } from './webhook.ts'

it('says of a number of waiting messages that is not exact that it is not', () => {
  expect([0, 1000, 1001].map((pending) => pendingText({ pending }))).toEqual(['0', '1,000', 'about 1,001'])
})
