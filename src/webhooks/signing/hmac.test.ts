import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'vitest'
import { BLOCK_BYTES, hmacKeyOf, hmacOf } from './hmac.ts'

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))

test('signs as the library does, with keys and texts of any length', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('sha256' as const, 'sha1' as const),
      fc.constantFrom('hex' as const, 'base64' as const),
      bytes,
      fc.array(bytes, { minLength: 1, maxLength: 3 }),
      (algorithm, encoding, secret, texts) => {
        const key = hmacKeyOf(algorithm, secret)
        return texts.every((text) => {
          const expected = createHmac(algorithm, secret).update(text).digest(encoding)
          return hmacOf(key, Buffer.concat([Buffer.alloc(BLOCK_BYTES, 1), text]), encoding) === expected
        })
      },
    ),
  )
})
