import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'

/** The account by which the service logs in to devices that call home. */
export const SSH_USER = 'signalbox'

const TYPE = 'ssh-ed25519'
/** The beginning of an Ed25519 key in PKCS #8; the 32 bytes of its seed follow. Source: RFC 8410, 7. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

export interface SshUserKey {
  /** In the format of OpenSSH. */
  readonly privateKey: string
  /** As in `authorized_keys`. */
  readonly publicKey: string
}

/** Returns the key of the account. It is derived from the key of the installation, so it stays the same. */
export function sshUserKey(secrets: Secrets): SshUserKey {
  const seed = Buffer.from(secrets.sign('ssh_user', SSH_USER), 'base64url')
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const point = Buffer.from(x, 'base64url')
  const publicBlob = Buffer.concat([field(TYPE), field(point)])
  return {
    privateKey: encodePrivateKey({ publicBlob, point, seed }),
    publicKey: `${TYPE} ${publicBlob.toString('base64')} ${SSH_USER}`,
  }
}

interface KeyParts {
  readonly publicBlob: Buffer
  readonly point: Buffer
  readonly seed: Buffer
}

/** Source: OpenSSH, PROTOCOL.key. */
function encodePrivateKey({ publicBlob, point, seed }: KeyParts): string {
  const check = Buffer.alloc(8)
  const secret = [check, field(TYPE), field(point), field(Buffer.concat([seed, point])), field(SSH_USER)]
  const length = secret.reduce((sum, part) => sum + part.length, 0)
  const padding = Buffer.from(Array.from({ length: (8 - (length % 8)) % 8 }, (_, index) => index + 1))
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    uint32(1),
    field(publicBlob),
    field(Buffer.concat([...secret, padding])),
  ])
  const lines = body.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n')
}

function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
