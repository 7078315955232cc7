import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secrets.ts'

const COUNT = 10
const CODE_BYTES = 10
/** Without the letters and digits that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

/** 16 characters of 31, about 79 bits: a stolen hash does not give the code away. Shown once. */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, generateCode)
}

function generateCode(): string {
  const letters: string[] = []
  // Bytes beyond the last multiple of the alphabet's length would make some letters likelier.
  const limit = 256 - (256 % alphabet.length)
  while (letters.length < 16)
    for (const byte of randomBytes(CODE_BYTES))
      if (byte < limit && letters.length < 16) letters.push(alphabet.charAt(byte % alphabet.length))
  return letters.join('').replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** As people type it back: in whatever case, with or without the dashes. */
export function recoveryCodeHash(code: string): Buffer {
  return sha256(code.toLowerCase().replaceAll(/[\s-]/g, ''))
}
