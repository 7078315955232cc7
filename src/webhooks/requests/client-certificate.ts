import { X509Certificate, createPrivateKey } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Reader } from '../../platform/database/db.ts'
import { tlsReasonOf } from '../../platform/outbound/describe-error.ts'
import type { ClientIdentity } from '../../platform/outbound/outbound-agents.ts'
import { type NamedWebhook, listClientCertificates } from '../health/store-failing.ts'
import { MAX_RSA_BITS, isLongRsa } from './rsa-limit.ts'

/**
 * Returns the client identity of deliveries for receivers that require a certificate; null without one.
 * @param fields Those of a webhook, secrets included.
 * @throws AppError invalid, which names the field.
 */
export function parseClientIdentity(fields: Document): ClientIdentity | null {
  const [cert, key] = [textOf(fields, 'client_cert'), textOf(fields, 'client_key')]
  if (cert === null && key === null) return null
  if (cert === null) throw invalidField('client_cert', 'is required with client_key')
  if (key === null) throw invalidField('client_key', 'is required with client_cert')
  const certificate = parse('client_cert', 'a certificate in PEM', () => new X509Certificate(cert))
  const privateKey = parse('client_key', 'a private key in PEM without a passphrase', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) throw invalidField('client_key', 'is not the key of client_cert')
  if (!String(fields['url']).startsWith('https:'))
    throw invalidField('client_cert', 'needs a url that starts with https://')
  return { cert, key }
}

/** TLS reads all certificates for each connection: those of a MiB take 20 ms, in which the process does nothing else. */
const MAX_CERT_LENGTH = 32_768

/**
 * Validates an identity that differs from the stored one. One of an earlier release may be invalid.
 * @throws AppError invalid, which names the field.
 */
export function assertClientIdentity({ cert, key }: ClientIdentity): void {
  if (clientCertificateEnd({ client_cert: cert }) === null) throw invalidField('client_cert', 'has no valid end')
  if (cert.length > MAX_CERT_LENGTH)
    throw invalidField('client_cert', `must have at most ${MAX_CERT_LENGTH} characters with those of its issuers`)
  if (isLongRsa(createPrivateKey(key))) throw invalidField('client_key', `must have at most ${MAX_RSA_BITS} bits`)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw invalidField('client_cert', `is refused by TLS: ${tlsReasonOf(error) ?? 'it is invalid'}`)
  }
}

/** Returns when the certificate of a webhook expires; null without one, and for one whose end is not a time. */
export function clientCertificateEnd(fields: Document): Date | null {
  const cert = textOf(fields, 'client_cert')
  const end = cert === null ? null : new Date(new X509Certificate(cert).validTo)
  return end === null || Number.isNaN(end.getTime()) ? null : end
}

export interface ExpiringCertificate extends NamedWebhook {
  readonly notAfter: Date
}

/** Finds the certificates of enabled webhooks that expire before `before`. */
export async function findExpiringCertificates(reader: Reader, before: Date): Promise<ExpiringCertificate[]> {
  const webhooks = await listClientCertificates(reader)
  return webhooks.flatMap(({ cert, ...webhook }) => {
    const notAfter = clientCertificateEnd({ client_cert: cert })
    return notAfter === null || notAfter >= before ? [] : [{ ...webhook, notAfter }]
  })
}

/** Null and an empty text represent a field that is not set. */
function textOf(fields: Document, name: string): string | null {
  const value = fields[name] ?? ''
  if (typeof value !== 'string') throw invalidField(name, 'must be a text')
  return value === '' ? null : value
}

function parse<T>(field: string, what: string, read: () => T): T {
  try {
    return read()
  } catch {
    throw invalidField(field, `must be ${what}`)
  }
}
