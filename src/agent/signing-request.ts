import { type KeyObject, createPublicKey, sign } from 'node:crypto'

const INTEGER = 0x02
const BIT_STRING = 0x03
const OBJECT_ID = 0x06
const UTF8_STRING = 0x0c
const SEQUENCE = 0x30
const SET = 0x31
/** The attributes of a request: [0], constructed. */
const ATTRIBUTES = 0xa0

/** 2.5.4.3 */
const COMMON_NAME = Buffer.from('550403', 'hex')
/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex')

/**
 * Returns a certificate request (PKCS #10, PEM) for a P-256 key. The gateway chooses the name of the certificate, so the
 * subject only says what made the request. Source: RFC 2986, 4; RFC 5758, 3.2.
 */
export function signingRequest(privateKey: KeyObject): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const name = der(SEQUENCE, der(OBJECT_ID, COMMON_NAME), der(UTF8_STRING, Buffer.from('signalbox-agent')))
  const subject = der(SEQUENCE, der(SET, name))
  const info = der(SEQUENCE, der(INTEGER, Buffer.from([0])), subject, publicKey, der(ATTRIBUTES))
  const signature = sign('sha256', info, privateKey)
  const algorithm = der(SEQUENCE, der(OBJECT_ID, ECDSA_WITH_SHA256))
  const request = der(SEQUENCE, info, algorithm, der(BIT_STRING, Buffer.from([0]), signature))
  const lines = request.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----', ''].join('\n')
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

/** The lengths of a request's parts fit in two bytes. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff])
}
