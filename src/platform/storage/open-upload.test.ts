import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openUpload } from './open-upload.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'signalbox-upload-'))
})
afterEach(() => rm(dir, { recursive: true }))

it('leaves nothing behind where an upload fails at once and its file is removed', async () => {
  const path = join(dir, 'upload')
  const file = await openUpload(path)
  expect(existsSync(path)).toBe(true)
  const body = new PassThrough()
  body.destroy(new Error('the client went away'))
  await expect(pipeline(body, file)).rejects.toThrow('the client went away')
  await rm(path)
  if (!file.closed) await once(file, 'close')
  expect(await readdir(dir)).toEqual([])
})

it('refuses a name that is taken', async () => {
  const path = join(dir, 'upload')
  const file = await openUpload(path, { flush: true })
  await pipeline([Buffer.from('first')], file)
  await expect(openUpload(path)).rejects.toMatchObject({ code: 'EEXIST' })
})
