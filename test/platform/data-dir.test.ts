import { chmod, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDataDir } from '../../src/platform/data-dir.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

test('the folder is made, closed to others, with the folders above it', async () => {
  const path = join(await temporaryDir(), 'a/b/data')
  const dataDir = await openDataDir(path)
  expect(dataDir.path).toBe(path)
  // As root, the group of 'nobody' may pass through to the database's folder.
  expect((await stat(path)).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o710 : 0o700)
  dataDir.release()
})

test('a folder that exists keeps its mode', async () => {
  const path = join(await temporaryDir(), 'data')
  await mkdir(path)
  await chmod(path, 0o750)
  const dataDir = await openDataDir(path)
  expect((await stat(path)).mode & 0o777).toBe(0o750)
  dataDir.release()
})

test('a second opener is refused in one line until the first releases', async () => {
  const path = await temporaryDir()
  const first = await openDataDir(path)
  await expect(openDataDir(path)).rejects.toMatchObject({
    code: 'conflict',
    message: `data folder ${path} is in use by process ${process.pid}`,
  })
  first.release()
  const second = await openDataDir(path)
  first.release() // does not take the second one's lock away
  await expect(openDataDir(path)).rejects.toMatchObject({ code: 'conflict' })
  second.release()
})

test('what a dead process left is no obstacle, even when its process id is in use again', async () => {
  const path = await temporaryDir()
  await writeFile(join(path, 'server.lock'), '')
  await writeFile(join(path, 'server.pid'), `${process.ppid}\n`)
  const dataDir = await openDataDir(path)
  dataDir.release()
})

test('a file in its place is refused in one line', async () => {
  const path = join(await temporaryDir(), 'data')
  await writeFile(path, '')
  await expect(openDataDir(path)).rejects.toMatchObject({
    code: 'unavailable',
    message: `data folder ${path} is not a folder`,
  })
})
