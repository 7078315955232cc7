import { expect, it } from 'vitest'
import { MAX_UNSENT, Outbox } from './outbox.ts'

it('keeps messages in their order, returns each once, and drops those that exceed its size', () => {
  const outbox = new Outbox()
  const messages = Array.from({ length: MAX_UNSENT }, (_, index) => `message ${index}`)
  for (const message of [...messages, 'lost']) outbox.add(message)
  expect(outbox.take()).toEqual(messages)
  expect(outbox.take()).toEqual([])
  outbox.add('next')
  expect(outbox.take()).toEqual(['next'])
})
