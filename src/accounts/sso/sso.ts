import { X509Certificate } from 'node:crypto'
import type { Selectable } from 'kysely'
import { mergeDocument } from '../../http/documents.ts'
import { invalidField } from '../../platform/errors.ts'
import type { SsoDocument, SsoTable } from '../tables.ts'

export type Sso = Selectable<SsoTable>

const fields = [
  'name',
  'idp_type',
  'issuer',
  'idp_cert',
  'idp_sign_algo',
  'idp_sso_url',
  'nameid_format',
  'custom_logout_url',
  'role_attr_from',
  'role_attr_extraction',
  'default_role',
  'ignore_unmatched_roles',
] as const satisfies readonly (keyof SsoDocument)[]

/**
 * Merges a client's body, whose types have been checked, into the stored document. Fields for other kinds of identity
 * providers than SAML are dropped.
 *
 * @throws AppError invalid, which names the field.
 */
export function mergeSso(before: SsoDocument | null, body: Readonly<Record<string, unknown>>): SsoDocument {
  const merged = mergeDocument({ ...before }, body)
  if (merged['scim_enabled'] === true) throw invalidField('scim_enabled', 'is not supported')
  const known = Object.fromEntries(fields.flatMap((name) => (name in merged ? [[name, merged[name]]] : [])))
  // The route's schema has checked the type of each of `fields`, in this body and in earlier ones.
  const doc = known as unknown as SsoDocument
  assertSso(doc)
  return doc
}

function assertSso(doc: SsoDocument): void {
  const { name, idp_type: type = 'saml', role_attr_extraction: extraction = '' } = doc
  if (name === undefined || name.trim() === '') throw invalidField('name', 'is required')
  if (type !== 'saml') throw invalidField('idp_type', `${type} is not supported: only saml is`)
  if (doc.idp_sign_algo === 'sha384') throw invalidField('idp_sign_algo', 'sha384 is not supported')
  if (extraction !== '' && extraction.toUpperCase() !== 'CN')
    throw invalidField('role_attr_extraction', 'must be CN where it is set')
  assertAddress('idp_sso_url', doc.idp_sso_url)
  assertAddress('custom_logout_url', doc.custom_logout_url)
  if (isSet(doc.idp_cert)) assertCertificates(doc.idp_cert)
}

/** Asserts that browsers can be redirected to the URL, and would run nothing. */
function assertAddress(field: string, value: string | undefined): void {
  if (!isSet(value)) return
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(value) || !URL.canParse(value))
    throw invalidField(field, 'must be an address of the form http://... or https://...')
}

const MIN_KEY_BITS = 2048
const MAX_CERTIFICATES = 4

function assertCertificates(text: string): void {
  const certificates = readCertificates(text)
  if (certificates === null || certificates.length > MAX_CERTIFICATES)
    throw invalidField('idp_cert', `must be a certificate in PEM form, or up to ${MAX_CERTIFICATES}`)
  for (const { publicKey: key } of certificates) {
    if (key.asymmetricKeyType !== 'rsa') throw invalidField('idp_cert', 'must have an RSA key')
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_KEY_BITS)
      throw invalidField('idp_cert', `must have a key of ${MIN_KEY_BITS} bits or more`)
  }
}

/** Parses the certificates; null if any of them is malformed. */
function readCertificates(text: string): X509Certificate[] | null {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
  const pems = found ?? [`-----BEGIN CERTIFICATE-----\n${text.trim()}\n-----END CERTIFICATE-----`]
  try {
    return pems.map((pem) => new X509Certificate(pem))
  } catch {
    // The message of OpenSSL would not help the user.
    return null
  }
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

/** What must be set to verify messages of an identity provider. */
export interface IdentityProvider {
  readonly issuer: string
  /** In PEM. Any of their keys may have signed. */
  readonly certs: readonly string[]
  readonly ssoUrl: string
}

/** Returns null until everything has been set: the administrator of the identity provider needs our URLs first. */
export function identityProviderOf({ doc }: Pick<Sso, 'doc'>): IdentityProvider | null {
  const { issuer, idp_cert: cert, idp_sso_url: ssoUrl } = doc
  if (!isSet(issuer) || !isSet(cert) || !isSet(ssoUrl)) return null
  const certificates = readCertificates(cert)
  return certificates && { issuer, certs: certificates.map(String), ssoUrl }
}

/** Returns where browsers go after a logout here; null if the SSO sets nothing. */
export function customLogoutUrl({ doc }: Pick<Sso, 'doc'>): string | null {
  return isSet(doc.custom_logout_url) ? doc.custom_logout_url : null
}

export interface SamlUrls {
  readonly entityId: string
  readonly loginUrl: string
  readonly acsUrl: string
  readonly logoutUrl: string
}

/** Returns our URLs for one SSO. Each SSO has its own entity id, so that a message for one is refused by another. */
export function samlUrls(baseUrl: string, domain: string): SamlUrls {
  const entityId = `${baseUrl}/saml/${domain}`
  return {
    entityId,
    loginUrl: `${entityId}/login`,
    acsUrl: `${entityId}/acs`,
    logoutUrl: `${entityId}/logout`,
  }
}

/** The SSO as the audit log shows it. */
export function auditDocument({ domain, doc }: Sso): Record<string, unknown> {
  return { ...doc, domain }
}
