import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secrets.ts'

const COUNT = 10
const CODE_BYTES = 10
/** The letters and digits except those that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Generates codes of 16 characters out of 31, about 79 bits: nobody can find a code from a stolen hash. */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, generateCode)
}

function generateCode(): string {
  const letters: string[] = []
  // Bytes above the last multiple of the alphabet's length would make some letters likelier than others.
  const limit = 256 - (256 % alphabet.length)
  while (letters.length < 16)
    for (const byte of randomBytes(CODE_BYTES))
      if (byte < limit && letters.length < 16) letters.push(alphabet.charAt(byte % alphabet.length))
  return letters.join('').replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Hashes a code as people type it: in upper or lower case, with or without the dashes. */
export function recoveryCodeHash(code: string): Buffer {
  return sha256(code.toLowerCase().replaceAll(/[\s-]/g, ''))
}
