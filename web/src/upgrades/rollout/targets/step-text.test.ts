import { expect, test } from 'vitest'
import { stepText } from './step-text.ts'

test.each([
  ['AP_UPGRADE_FAILED', 'AP upgrade failed'],
  ['SW_DISCONNECTED', 'switch disconnected'],
  ['GW_CONNECTED', 'gateway connected'],
  ['download_requested', 'download requested'],
])('%s reads as words', (what, words) => {
  expect(stepText({ what })).toBe(words)
})
