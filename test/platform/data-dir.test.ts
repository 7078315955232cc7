import { execFile } from 'node:child_process'
import { chmod, chown, lstat, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { openDataDir } from '../../src/platform/data-dir.ts'
import { mayRunAsOther, otherUser } from '../support/other-user.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

test('creates the folder, without access for other users, and the folders above it', async () => {
  const path = join(await temporaryDir(), 'a/b/data')
  const dataDir = await openDataDir(path)
  expect(dataDir.path).toBe(path)
  // As root, the folder lets the group of 'nobody' pass through to the database's folder.
  expect((await stat(path)).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o710 : 0o700)
  dataDir.release()
})

test('keeps the mode of an existing folder', async () => {
  const path = join(await temporaryDir(), 'data')
  await mkdir(path)
  await chmod(path, 0o750)
  const dataDir = await openDataDir(path)
  expect((await stat(path)).mode & 0o777).toBe(0o750)
  dataDir.release()
})

test('refuses a second opener with one line until the first one releases the folder', async () => {
  const path = await temporaryDir()
  const first = await openDataDir(path)
  await expect(openDataDir(path)).rejects.toMatchObject({
    code: 'conflict',
    message: `data folder ${path} is in use by process ${process.pid}`,
  })
  first.release()
  const second = await openDataDir(path)
  first.release() // This failure does not release the lock of the second opener.
  await expect(openDataDir(path)).rejects.toMatchObject({ code: 'conflict' })
  second.release()
})

test('keeps the lock of a caller that has kept no reference to it', async () => {
  const program = `
    import { setImmediate } from 'node:timers/promises'
    import { openDataDir } from '${new URL('../../src/platform/data-dir.ts', import.meta.url).href}'
    const open = () => openDataDir(process.argv[1]).then(() => 'opened', ({ message }) => message)
    await open()
    await setImmediate()
    gc()
    await setImmediate()
    console.log(await open())`
  const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, await temporaryDir()])
  expect(stdout).toContain('is in use by process')
})

test('ignores what a dead process left, even if its process id is in use again', async () => {
  const path = await temporaryDir()
  await writeFile(join(path, 'server.lock'), '')
  await writeFile(join(path, 'server.pid'), `${process.ppid}\n`)
  const dataDir = await openDataDir(path)
  dataDir.release()
})

test('refuses a file in place of the folder with one line', async () => {
  const path = join(await temporaryDir(), 'data')
  await writeFile(path, '')
  await expect(openDataDir(path)).rejects.toMatchObject({
    code: 'unavailable',
    message: `data folder ${path} is not a folder`,
  })
})

describe.skipIf(!mayRunAsOther)('as a user without the permission to write', () => {
  const { uid: user } = otherUser

  /** Opens the folder in a process of that user. */
  async function refusalOf(path: string): Promise<string> {
    const source = new URL('../../src/platform/data-dir.ts', import.meta.url).href
    const script = `const { openDataDir } = await import(process.argv[1])
      console.log(await openDataDir(process.argv[2]).then(() => 'opened', (error) => error.message))`
    const args = ['--input-type=module', '--eval', script, source, path]
    const { stdout } = await promisify(execFile)(process.execPath, args, otherUser)
    return stdout.trim()
  }

  test('names the folder and the user', async () => {
    const path = await temporaryDir()
    await chmod(path, 0o755)
    expect(await refusalOf(path)).toBe(
      `user ${user} may not write ${path}; change its owner, or set SIGNALBOX_DATA_DIR`,
    )
  })

  test('names the lock that root left in the folder of this user', async () => {
    const path = await temporaryDir()
    await chown(path, user, user)
    await writeFile(join(path, 'server.lock'), '', { mode: 0o644 })
    expect(await refusalOf(path)).toBe(
      `user ${user} may not write ${path}/server.lock; change its owner, or set SIGNALBOX_DATA_DIR`,
    )
  })
})

test.skipIf(process.getuid?.() !== 0)(
  "changes the owner of what root creates in another user's folder to that user",
  async () => {
    const path = await temporaryDir()
    const elsewhere = await temporaryDir()
    await writeFile(join(elsewhere, 'file'), '')
    await chown(path, 1234, 2345)
    const dataDir = await openDataDir(path)
    await mkdir(join(path, 'firmware/incoming'), { recursive: true })
    await mkdir(join(path, 'postgres'))
    for (const name of ['secret.key', 'firmware/image', 'postgres/theirs', 'other'])
      await writeFile(join(path, name), '')
    await chown(join(path, 'other'), 4321, 4321)
    await symlink(elsewhere, join(path, 'link'))
    await dataDir.giveToOwner()
    const ownerOf = async (name: string): Promise<number> => (await lstat(join(path, name))).uid
    for (const name of [
      'server.lock',
      'server.pid',
      'secret.key',
      'firmware',
      'firmware/incoming',
      'firmware/image',
      'link',
    ])
      expect(await ownerOf(name), name).toBe(1234)
    expect((await stat(join(path, 'secret.key'))).gid).toBe(2345)
    // The database has its own owner; files of other users are not changed.
    expect(await ownerOf('postgres/theirs')).toBe(0)
    expect(await ownerOf('other')).toBe(4321)
    expect((await stat(elsewhere)).uid).toBe(0)
    expect(await ownerOf('link/file')).toBe(0)
    dataDir.release()
  },
)

test.skipIf(process.getuid?.() !== 0)("keeps a folder of root as root's", async () => {
  const path = join(await temporaryDir(), 'data')
  const dataDir = await openDataDir(path)
  await writeFile(join(path, 'secret.key'), '')
  await dataDir.giveToOwner()
  expect(await stat(join(path, 'secret.key'))).toMatchObject({ uid: 0, gid: 0 })
  dataDir.release()
})
