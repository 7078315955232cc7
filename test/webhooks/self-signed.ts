import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** Creates a self-signed certificate for an address, as PEM texts. Without `notAfter` it is valid for an hour. */
export async function selfSigned(
  ip: string,
  notAfter = new Date(Date.now() + 3600e3),
): Promise<{ key: string; cert: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${ip}`,
      notBefore: new Date(Date.now() - 7200e3),
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
