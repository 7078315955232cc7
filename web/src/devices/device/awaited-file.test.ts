import { expect, test } from 'vitest'
import { isFileAwaited } from './awaited-file.ts'

const NOW_MS = 1_700_000_000_000
const ended = { id: 'a', kind: 'support', status: 'done', finished_time: NOW_MS / 1000 - 5 } as const

test('the file of a command that has just ended is awaited until it is there', () => {
  expect(isFileAwaited({ commands: [ended], files: [] }, NOW_MS)).toBe(true)
  expect(isFileAwaited({ commands: [ended], files: [{ id: 'b' }] }, NOW_MS)).toBe(true)
  expect(isFileAwaited({ commands: [ended], files: [{ id: 'b' }, { id: 'a' }] }, NOW_MS)).toBe(false)
})

test.each([
  ['another command', { ...ended, kind: 'ping' }],
  ['a command that still runs', { ...ended, status: 'sent', finished_time: undefined }],
  ['a command that the device refused', { ...ended, status: 'rejected' }],
  ['an old command', { ...ended, finished_time: NOW_MS / 1000 - 600 }],
] as const)('no file of %s is awaited', (_, { finished_time: finishedAt, ...command }) => {
  const commands = [{ ...command, ...(finishedAt !== undefined && { finished_time: finishedAt }) }]
  expect(isFileAwaited({ commands, files: [] }, NOW_MS)).toBe(false)
})
