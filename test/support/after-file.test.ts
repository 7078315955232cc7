import { beforeAll, expect, test } from 'vitest'
import { afterFile, endFile } from './after-file.ts'

const ended: string[] = []
beforeAll(() => {
  afterFile(() => void ended.push('first'))
  afterFile(async () => void ended.push('second'))
})

test('what a hook has registered ends once, the last one first', async () => {
  expect(ended).toEqual([])
  await endFile()
  await endFile()
  expect(ended).toEqual(['second', 'first'])
})
