import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { moveWhole, writeWhole } from './files.ts'

let dir: string
beforeEach(async () => {
  dir = await temporaryDir()
})

it('replaces the former file, and is readable by its owner only', async () => {
  const path = join(dir, 'a')
  await writeWhole(path, 'first')
  await writeWhole(path, 'second')
  expect(await readFile(path, 'utf8')).toBe('second')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  await moveWhole(path, join(dir, 'b'))
  expect(await readdir(dir)).toEqual(['b'])
})
