import { expect, test } from 'vitest'
import { fingerprintOf, parseFingerprint } from './fingerprint.ts'

const encoded = 'AAAAC3NzaC1lZDI1NTE5AAAAIGm6cbCMV5YJJfVdfUNDOqYLQwZtzUq6YhHzXqQvSy4F'
const fingerprint = fingerprintOf(Buffer.from(encoded, 'base64'))

test.each([
  ['a public key', `ssh-ed25519 ${encoded}`],
  ['one with a comment', `ssh-ed25519 ${encoded} root@switch`],
  ['a line of known hosts', `[10.0.0.1]:2222 ssh-ed25519 ${encoded}`],
  ['the fingerprint', fingerprint],
])('%s names the key', (_, text) => {
  expect(parseFingerprint(text)).toBe(fingerprint)
})

test.each(['', 'SHA256:short', encoded, `ssh-rsa ${encoded}`, 'ssh-ed25519 !!', 'ssh-ed25519'])(
  '%s names none',
  (text) => {
    expect(parseFingerprint(text)).toBeNull()
  },
)
