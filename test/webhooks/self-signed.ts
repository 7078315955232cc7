import 'reflect-metadata'
import { X509Certificate, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const rsa = (bits: number) => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: bits,
})

interface CertificateOptions {
  /** Two hours ago by default. */
  readonly notBefore?: Date
  /** In an hour by default. */
  readonly notAfter?: Date
  /** The length of an RSA key; without it, the key is one of ECDSA. */
  readonly rsaBits?: number
}

/** Creates a self-signed certificate for an address, as PEM texts. */
export async function selfSigned(
  ip: string,
  {
    notBefore = new Date(Date.now() - 7200e3),
    notAfter = new Date(Date.now() + 3600e3),
    rsaBits,
  }: CertificateOptions = {},
): Promise<{ key: string; cert: string }> {
  const algorithm = rsaBits === undefined ? ecdsa : rsa(rsaBits)
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${ip}`,
      notBefore,
      notAfter,
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: ip }])],
    },
    webcrypto,
  )
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { key: x509.PemConverter.encode(der, 'PRIVATE KEY'), cert: cert.toString('pem') }
}

/** Returns the certificate with a time as the end of its validity that does not exist. Its signature is no longer valid. */
export function withoutEnd(cert: string): string {
  const der = new X509Certificate(cert).raw
  const utcTime = Buffer.from([0x17, 13])
  der.write('991332000000Z', der.lastIndexOf(utcTime) + utcTime.length, 'latin1')
  return x509.PemConverter.encode(der, 'CERTIFICATE')
}
