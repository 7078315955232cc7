import { X509Certificate } from 'node:crypto'
import type { Selectable } from 'kysely'
import { mergeDocument, omitFields } from '../../http/bodies/documents.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import { invalidField } from '../../platform/errors.ts'
import type { SsoDocument, SsoTable } from '../tables.ts'

export type Sso = Selectable<SsoTable>

/**
 * Merges a client's body, whose types have been checked, into the stored document. Signalbox stores the fields for other
 * kinds of identity providers than SAML without acting on them.
 *
 * @throws AppError invalid, which names the field.
 */
export function mergeSso(before: SsoDocument | null, body: Readonly<Record<string, unknown>>): SsoDocument {
  const merged = omitFields(mergeDocument({ ...before }, body), readOnlyOf('Sso'))
  if (merged['scim_enabled'] === true) throw invalidField('scim_enabled', 'is not supported')
  assertSso(merged)
  return merged
}

/** The route's schema has checked the type of each field of SsoDocument, in this body and in earlier ones. */
function assertSso(doc: Record<string, unknown>): asserts doc is Record<string, unknown> & SsoDocument {
  const { name, idp_sso_url: ssoUrl, custom_logout_url: logoutUrl } = doc
  if (typeof name !== 'string' || name.trim() === '') throw invalidField('name', 'is required')
  assertAddress('idp_sso_url', ssoUrl)
  assertAddress('custom_logout_url', logoutUrl)
}

/** Asserts that browsers can be redirected to the URL, and would run nothing. */
function assertAddress(field: string, value: unknown): void {
  if (!isSet(value)) return
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(value) || !URL.canParse(value))
    throw invalidField(field, 'must be an address of the form http://... or https://...')
}

const MIN_KEY_BITS = 2048
const MAX_CERTIFICATES = 4

/** Returns the reason why the SSO admits no sign-in; null if its configuration is complete. */
export function loginFault({ doc }: Pick<Sso, 'doc'>): string | null {
  const { idp_type: type = 'saml', role_attr_extraction: extraction = '' } = doc
  if (type !== 'saml') return `idp_type is ${type}, but people can sign in with saml only`
  if (extraction !== '' && extraction.toUpperCase() !== 'CN')
    return `role_attr_extraction is ${extraction}, but roles can be extracted by CN only`
  return certificateFault(doc)
}

/** Lists the settings that the administrator of the SSO has to change before people can sign in. */
export function loginWarnings(sso: Pick<Sso, 'doc'>): string[] {
  const fault = loginFault(sso)
  const algorithm =
    sso.doc.idp_sign_algo === 'sha384'
      ? 'idp_sign_algo is sha384, which is not supported in signatures: let the identity provider sign with sha512'
      : null
  return [fault, algorithm].filter((warning) => warning !== null)
}

/**
 * Returns the reason why the certificates can't verify messages; null if they can. They are checked when they are used:
 * clients store records before they have the certificate.
 */
function certificateFault({ idp_cert: text }: SsoDocument): string | null {
  if (!isSet(text)) return null
  const certificates = parseCertificates(text)
  if (certificates === null || certificates.length > MAX_CERTIFICATES)
    return `idp_cert must be a certificate in PEM form, or up to ${MAX_CERTIFICATES}`
  for (const { publicKey: key } of certificates) {
    if (key.asymmetricKeyType !== 'rsa') return 'idp_cert must have an RSA key'
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_KEY_BITS)
      return `idp_cert must have a key of ${MIN_KEY_BITS} bits or more`
  }
  return null
}

/** Parses the certificates; null if any of them is malformed. */
function parseCertificates(text: string): X509Certificate[] | null {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
  const pems = found ?? [`-----BEGIN CERTIFICATE-----\n${text.trim()}\n-----END CERTIFICATE-----`]
  try {
    return pems.map((pem) => new X509Certificate(pem))
  } catch {
    // The message of OpenSSL would not help the user.
    return null
  }
}

function isSet(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The settings that are required to verify messages of an identity provider. */
export interface IdentityProvider {
  readonly issuer: string
  /** In PEM. The signature may be from any of their keys. */
  readonly certs: readonly string[]
  readonly ssoUrl: string
}

/**
 * Returns null unless everything has been set for SAML, and the certificates are good: the administrator of the identity provider
 * needs our URLs first.
 */
export function identityProviderOf(sso: Pick<Sso, 'doc'>): IdentityProvider | null {
  const { issuer, idp_cert: cert, idp_sso_url: ssoUrl } = sso.doc
  if (!isSet(issuer) || !isSet(cert) || !isSet(ssoUrl) || loginFault(sso) !== null) return null
  const certificates = parseCertificates(cert)
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

/** Returns the SSO in the form that the audit log shows. */
export function auditDocument({ domain, doc }: Sso): Record<string, unknown> {
  return { ...omitSecrets({ ...doc }), domain }
}
