import { expect, test } from 'vitest'
import { InputWatch } from './input-watch.ts'

test('input arrived after the look before the last', () => {
  const input = new InputWatch()
  input.begin(100)
  expect(input.sinceMs).toBe(100)
  for (const at of [110, 120, 130]) input.look(at)
  expect(input.sinceMs).toBe(120)
})

test('after the event loop was blocked, the first input may have waited all that time, and later input has not', () => {
  const input = new InputWatch()
  input.begin(0)
  for (const at of [10, 20, 5000]) input.look(at)
  expect(input.sinceMs).toBe(20)
  input.look(5010)
  expect(input.sinceMs).toBe(5000)
})
