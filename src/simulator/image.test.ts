import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fileNameOf, imageHeader, readImage } from './image.ts'

const sha256 = 'ab'.repeat(32)
const word = fc.stringMatching(/^[A-Za-z0-9._-]{1,30}$/)
/** Versions as in catalogs, such as `OpenWrt 21.02 / TIP-v2.5.0`. */
const anyVersion = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,40}[\x21-\x7e])?$/)

describe('readImage', () => {
  it('reads what imageHeader writes, whatever follows', () => {
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 5 }),
        anyVersion,
        fc.uint8Array(),
        (models, version, rest) => {
          const head = Buffer.concat([Buffer.from(imageHeader(models, version)), rest])
          expect(readImage({ head, sha256, fileName: 'other.bin' })).toEqual({ sha256, models, version })
        },
      ),
    )
  })

  it('uses the file name as the version of an image without header, else the hash', () => {
    const head = Buffer.from([0x7f, 0x45, 0x4c, 0x46])
    expect(readImage({ head, sha256, fileName: '3.2.1-rc1.bin' })).toEqual({
      sha256,
      models: null,
      version: '3.2.1-rc1',
    })
    expect(readImage({ head, sha256, fileName: null })).toEqual({
      sha256,
      models: null,
      version: 'sha256-abababababab',
    })
  })

  it('accepts any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        expect(readImage({ head: Buffer.from(bytes), sha256, fileName: null }).version).not.toBe('')
      }),
    )
  })
})

describe('fileNameOf', () => {
  it.each([
    ['attachment; filename="a b.bin"', 'a b.bin'],
    ['attachment; filename=2.0.0.img', '2.0.0.img'],
    ["attachment; filename*=UTF-8''OpenWrt%2021.02%20%2F%20TIP-v2.5.0.bin", 'OpenWrt 21.02 / TIP-v2.5.0.bin'],
    ["attachment; filename*=UTF-8''%ff", null],
    ['attachment', null],
    [undefined, null],
  ])('%j is %j', (header, name) => expect(fileNameOf(header)).toBe(name))
})
