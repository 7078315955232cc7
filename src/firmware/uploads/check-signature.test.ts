import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkSignature } from './check-signature.ts'

const [known, unknown] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
const digest = createHash('sha256').update('image').digest()
const sha256 = digest.toString('hex')
const signedBy = ({ privateKey }: typeof known) => sign(null, digest, privateKey).toString('base64')
const check = (keys: (typeof known)[], isRequired: boolean, signature: string | null) => () =>
  checkSignature({ keys: keys.map(({ publicKey }) => publicKey), isRequired }, { sha256, signature })

test('without trusted keys every signature is stored', () => {
  expect(check([], false, signedBy(unknown))).not.toThrow()
  expect(check([], false, null)).not.toThrow()
})

test('with trusted keys only theirs are', () => {
  expect(check([unknown, known], true, signedBy(known))).not.toThrow()
  expect(check([known], false, signedBy(unknown))).toThrow(
    'Invalid field signature: is by none of the keys that this server trusts',
  )
  expect(check([known], false, null)).not.toThrow()
  expect(check([known], true, null)).toThrow('Invalid field signature: is missing')
})
