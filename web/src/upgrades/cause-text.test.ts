import { expect, test } from 'vitest'
import { causeText } from './cause-text.ts'

test('causes of the engine have words, and those of devices are shown as they are', () => {
  expect(causeText('not_applied')).toBe('still runs the previous version')
  expect(causeText('no space left on device')).toBe('no space left on device')
})
