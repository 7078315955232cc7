import 'reflect-metadata'
import { type KeyObject, createHash, createPublicKey, webcrypto } from 'node:crypto'
import { ExtendedKeyUsage, ExtendedKeyUsageExtension, Pkcs10CertificateRequest } from '@peculiar/x509'
import type { CheckedRequest } from '../../devices/routers/certificates.ts'
import { invalidField } from '../../platform/errors.ts'
import { type DeviceCa, signLeaf } from './device-ca.ts'

/**
 * Checks a signing request of an agent: a P-256 key, and a signature by that key. Its subject, extensions and attributes
 * mean nothing, so no request can obtain a certificate for another name or another use.
 * @throws AppError invalid naming `csr`.
 */
export async function checkSigningRequest(ca: DeviceCa, csrPem: string): Promise<CheckedRequest> {
  const { request, key } = await parseRequest(csrPem).catch(() => {
    throw invalidField('csr', 'must be the PEM of a PKCS #10 certificate request')
  })
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw invalidField('csr', 'must be for a key on the curve P-256')
  const isProven = await request.verify(webcrypto).catch(() => false)
  if (!isProven) throw invalidField('csr', 'must be signed with SHA-256 by its own key')
  const der = key.export({ type: 'spki', format: 'der' })
  return {
    keySha256: createHash('sha256').update(der).digest('hex'),
    async sign(commonName, at) {
      const publicKey = await webcrypto.subtle.importKey('spki', der, P256, true, ['verify'])
      const usage = new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth])
      const certificate = await signLeaf(ca, { subject: [{ CN: [commonName] }], publicKey, at }, [usage])
      return { certificate, ca: ca.certificatePem }
    },
  }
}

const P256 = { name: 'ECDSA', namedCurve: 'P-256' } as const
const PEM = /^-----BEGIN CERTIFICATE REQUEST-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE REQUEST-----\s*$/

async function parseRequest(csrPem: string): Promise<{ request: Pkcs10CertificateRequest; key: KeyObject }> {
  if (!PEM.test(csrPem)) throw new Error('no PEM')
  const request = new Pkcs10CertificateRequest(csrPem)
  const key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' })
  return { request, key }
}
