import { expect, it } from 'vitest'
import { parkedText, replayEffect, replayedText } from './parked.ts'

it('says that the health of a webhook counts no further', () => {
  expect([0, 9999, 10_000].map(parkedText)).toEqual(['0', '9,999', 'at least 10,000'])
})

it('says how many messages one call sends again', () => {
  expect(replayEffect(1, true)).toBe('Sends 1 message again, the oldest first, with the same ids and bytes.')
  expect(replayEffect(300_000, false)).toBe(
    'Sends up to 10,000 of 300,000 messages again, the oldest first, with the same ids and bytes. They wait until the webhook is enabled.',
  )
})

it('says what is left after one call', () => {
  expect(replayedText(1, 0, false)).toBe('1 message waits to be sent again until the webhook is enabled.')
  expect(replayedText(2, 0, true)).toBe('2 messages wait to be sent again.')
  expect(replayedText(2560, 1, true)).toBe('2,560 messages wait to be sent again. 1 message is left: send them next.')
  expect(replayedText(10_000, 290_000, true)).toBe(
    '10,000 messages wait to be sent again. 290,000 messages are left: send them next.',
  )
})
