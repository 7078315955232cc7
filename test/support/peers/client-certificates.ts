import 'reflect-metadata'
import { execFileSync } from 'node:child_process'
import { X509Certificate, webcrypto } from 'node:crypto'
import { type PeerCertificate, connect } from 'node:tls'
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509'
import type { DeviceCa } from '../../../src/gateway/certificates/device-ca.ts'

/** Returns the subject as OpenSSL's `X509_NAME_oneline` writes it, from the `openssl` program if it is installed. */
function onelineSubject(certificatePem: string): string {
  try {
    const answer = execFileSync('openssl', ['x509', '-noout', '-subject', '-nameopt', 'compat'], {
      input: certificatePem,
      encoding: 'utf8',
    })
    return answer.trim().replace(/^subject= ?/, '')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return `/${new X509Certificate(certificatePem).subject.split('\n').join('/')}`
  }
}

/**
 * Returns the serial that the client of switches gives itself: the one-line subject, cut to 62 characters, from the
 * tenth on, in lower case. Source: ols-ucentral-client, `client_config_read`.
 */
export function switchSerial(certificatePem: string): string {
  return onelineSubject(certificatePem).slice(0, 62).slice(10).toLowerCase()
}

/**
 * Returns true if the client of access points accepts the certificate for `server`: its common name or one of its DNS
 * names equals that text, or is a wildcard for it. Addresses among the alternative names don't count. Source:
 * wlan-ucentral-client, `match_hostname` and `validate_SAN`.
 */
export function accessPointTrusts({ subject, subjectaltname = '' }: PeerCertificate, server: string): boolean {
  const dnsNames = subjectaltname.split(', ').flatMap((name) => (name.startsWith('DNS:') ? [name.slice(4)] : []))
  return [subject.CN, ...dnsNames].some(
    (name) => name === server || (typeof name === 'string' && name.startsWith('*.') && server.endsWith(name.slice(1))),
  )
}

export interface ClientFiles {
  readonly port: number
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/**
 * Performs a TLS handshake as a device does, which checks the host name itself.
 * @throws Error when either side refuses.
 */
export function shakeHands({ port, ...files }: ClientFiles): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ...files, checkServerIdentity: () => undefined })
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate())
      socket.destroy()
    })
  })
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/**
 * Issues a certificate with any subject. Of the extensions of the service's own certificates it has only that of a CA.
 */
export async function issueCertificate(
  issuer: Pick<DeviceCa, 'certificate' | 'signingKey'>,
  subject: string,
  isCa = false,
  notAfter = new Date(Date.now() + 3600e3),
): Promise<DeviceCa> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: '01',
      subject,
      issuer: issuer.certificate.subject,
      notBefore: new Date(Date.now() - 7200e3),
      notAfter,
      publicKey: keys.publicKey,
      signingKey: issuer.signingKey,
      signingAlgorithm: algorithm,
      extensions: [new BasicConstraintsExtension(isCa)],
    },
    webcrypto,
  )
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`
  return { certificate, signingKey: keys.privateKey, certificatePem: certificate.toString('pem'), keyPem }
}
