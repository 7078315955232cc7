import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { openImage } from './image-source.ts'
import { createSharedFiles } from './shared-files.ts'

test('a stream that the store opens while its reader leaves is closed', async () => {
  const next = Promise.withResolvers<Readable>()
  const reopened = Promise.withResolvers<void>()
  const streams = [Promise.resolve(Readable.from([Buffer.from('ab')]))]
  const objects: ObjectStore = {
    open() {
      const stream = streams.shift()
      if (stream !== undefined) return stream
      reopened.resolve()
      return next.promise
    },
    put: () => Promise.resolve(),
    remove: () => Promise.resolve(),
    async *list() {},
  }
  const source = await openImage({ dir: '', objects, shared: createSharedFiles() }, 'image', { start: 0, end: 3 })
  expect(await source.read(2)).toEqual(Buffer.from('ab'))
  const read = expect(source.read(2)).rejects.toThrow('The download ended')
  await reopened.promise
  await source.close()
  const late = Readable.from([Buffer.from('cd')])
  next.resolve(late)
  await read
  expect(late.destroyed).toBe(true)
})
