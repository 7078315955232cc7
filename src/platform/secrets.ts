import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeWhole } from './storage/files.ts'
import { AppError } from './errors.ts'
import { recordOf } from './records.ts'

const signPurposes = [
  'csrf',
  'firmware',
  'image',
  'support',
  'call_home',
  'ssh_user',
  'router_registration',
  'known_device',
] as const
export type SignPurpose = (typeof signPurposes)[number]

/** Keyed operations of the installation. Each purpose has its own key, derived from the master key. */
export interface Secrets {
  /** AES-256-GCM; `aad` binds the text to its row, so it can't be moved to another. */
  seal(plain: string, aad: string): Buffer
  /** @throws Error when the bytes were not sealed here for `aad`. */
  open(sealed: Buffer, aad: string): string
  /** HMAC-SHA256, base64url, for signed addresses and CSRF tokens. */
  sign(purpose: SignPurpose, text: string): string
  verify(purpose: SignPurpose, text: string, signature: string): boolean
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The first byte of a sealed value identifies the key. There is only one so far. */
const KEY_ID = 1

export function createSecrets(masterKey: Buffer): Secrets {
  // Each use of a key as bytes would import it again, which costs several times as much as the use.
  const derive = (purpose: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', `signalbox ${purpose}`, 32)))
  const sealKey = derive('seal')
  const signKeys = recordOf(signPurposes, derive)
  const sign: Secrets['sign'] = (purpose, text) =>
    createHmac('sha256', signKeys[purpose]).update(text).digest('base64url')
  return {
    seal(plain, aad) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(aad))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(KEY_ID), nonce, cipher.getAuthTag(), body])
    },
    open(sealed, aad) {
      if (sealed[0] !== KEY_ID) throw new Error('sealed with an unknown key')
      const bodyStart = 1 + NONCE_BYTES + TAG_BYTES
      const decipher = createDecipheriv('aes-256-gcm', sealKey, sealed.subarray(1, 1 + NONCE_BYTES))
      decipher.setAAD(Buffer.from(aad)).setAuthTag(sealed.subarray(1 + NONCE_BYTES, bodyStart))
      return Buffer.concat([decipher.update(sealed.subarray(bodyStart)), decipher.final()]).toString('utf8')
    },
    sign,
    verify: (purpose, text, signature) => equalText(sign(purpose, text), signature),
  }
}

/** Compares in constant time; texts of unequal length differ. */
export function equalText(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b))
}

export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** Returns sha256() in lower-case hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex')
}

const MASTER_KEY_BYTES = 32

/**
 * Returns the installation's key, created at the first start: `secret.key` in the data folder, 32 bytes, mode 0600.
 * @throws AppError as loadOrMake(), and for a file of another length: anything derived from half a key could be
 *   guessed.
 */
export async function loadMasterKey(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'secret.key')
  const key = await loadOrMake(path, () => randomBytes(MASTER_KEY_BYTES))
  if (key.length === MASTER_KEY_BYTES) return key
  throw new AppError(
    'unavailable',
    `${path} has ${key.length} bytes, not ${MASTER_KEY_BYTES}: restore it from a backup`,
  )
}

/**
 * Reads the file, or first creates it: private, and complete or not at all, even if the power fails.
 * @throws AppError `unavailable` for a file that can't be read or is empty: an empty secret would admit anyone.
 */
export async function loadOrMake(path: string, make: () => Buffer): Promise<Buffer> {
  const known = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new AppError('unavailable', `${path} can't be read: ${error.message}`)
  })
  if (known?.length === 0) throw new AppError('unavailable', `${path} is empty: restore it from a backup`)
  if (known !== null) return known
  const made = make()
  await writeWhole(path, made)
  return made
}
