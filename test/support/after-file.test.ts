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

test('one that fails keeps none from ending, and fails the file', async () => {
  ended.length = 0
  afterFile(() => void ended.push('first'))
  afterFile(() => Promise.reject(new Error('it hangs')))
  await expect(endFile()).rejects.toMatchObject({ errors: [new Error('it hangs')] })
  expect(ended).toEqual(['first'])
})
