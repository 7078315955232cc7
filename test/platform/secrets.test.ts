import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { createSecrets, loadMasterKey, loadOrMake } from '../../src/platform/secrets.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

describe('the master key', () => {
  it('is created once, readable by its owner only', async () => {
    const folder = await temporaryDir()
    const key = await loadMasterKey(folder)
    expect(key).toHaveLength(32)
    expect(await loadMasterKey(folder)).toEqual(key)
    expect((await stat(join(folder, 'secret.key'))).mode & 0o777).toBe(0o600)
  })

  test.each([0, 1, 31, 33])('of %i bytes ends the start instead of protecting nothing', async (length) => {
    const folder = await temporaryDir()
    await writeFile(join(folder, 'secret.key'), Buffer.alloc(length))
    await expect(loadMasterKey(folder)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/secret\.key (is empty|has \d+ bytes, not 32): restore it from a backup$/),
    })
    expect(await readFile(join(folder, 'secret.key'))).toHaveLength(length)
  })
})

it('a secret file that is empty or not a regular file is refused', async () => {
  const folder = await temporaryDir()
  await writeFile(join(folder, 'operator.key'), '')
  const make = (): Buffer => Buffer.from('made')
  await expect(loadOrMake(join(folder, 'operator.key'), make)).rejects.toMatchObject({ code: 'unavailable' })
  await expect(loadOrMake(folder, make)).rejects.toMatchObject({ code: 'unavailable' })
})

describe('sealed texts', () => {
  const secrets = createSecrets(Buffer.alloc(32, 1))

  it('can be opened for their purpose, and for no other', () => {
    const sealed = secrets.seal('s3cret', 'row 1')
    expect(secrets.open(sealed, 'row 1')).toBe('s3cret')
    expect(sealed.includes('s3cret')).toBe(false)
    expect(() => secrets.open(sealed, 'row 2')).toThrow()
    expect(() => createSecrets(Buffer.alloc(32, 2)).open(sealed, 'row 1')).toThrow()
  })

  it("can't be opened after any change", () => {
    const sealed = secrets.seal('s3cret', 'row 1')
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(() => secrets.open(changed, 'row 1')).toThrow()
    }
    expect(() => secrets.open(Buffer.alloc(0), 'row 1')).toThrow()
  })
})

it('a signature is valid for its purpose and text only', () => {
  const secrets = createSecrets(Buffer.alloc(32, 1))
  const signature = secrets.sign('csrf', 'session')
  expect(secrets.verify('csrf', 'session', signature)).toBe(true)
  expect(secrets.verify('csrf', 'other', signature)).toBe(false)
  expect(secrets.verify('firmware', 'session', signature)).toBe(false)
  expect(secrets.verify('csrf', 'session', '')).toBe(false)
})
