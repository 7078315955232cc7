import type { WirePrivilege } from '../../access/tables.ts'
import type { SsoDocument } from '../tables.ts'
import type { Assertion } from './saml/assertion.ts'

export interface PersonRequest {
  readonly assertion: Pick<Assertion, 'nameId' | 'attributes'>
  readonly doc: SsoDocument
  /** The privileges of each role of the organization, by the role's name. */
  readonly roles: ReadonlyMap<string, readonly WirePrivilege[]>
}

export type PersonDecision =
  | { readonly kind: 'refuse'; readonly why: string }
  | {
      readonly kind: 'person'
      readonly email: string
      readonly firstName: string
      readonly lastName: string
      readonly privileges: readonly WirePrivilege[]
    }

const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'
/** The names that identity providers use for each attribute, ours first; compared without regard to case. */
const names = {
  email: ['email', 'mail', 'emailaddress', `${claims}/emailaddress`, 'urn:oid:0.9.2342.19200300.100.1.3'],
  firstName: ['firstname', 'first_name', 'givenname', `${claims}/givenname`, 'urn:oid:2.5.4.42'],
  lastName: ['lastname', 'last_name', 'surname', 'sn', `${claims}/surname`, 'urn:oid:2.5.4.4'],
} as const

const MAX_NAME_CHARS = 100

/** Decides who signs in and what they may do, from the assertion and the roles of the organization. */
export function decidePerson({ assertion, doc, roles }: PersonRequest): PersonDecision {
  const { nameId, attributes } = assertion
  const byEmail = (doc.nameid_format ?? 'email') === 'email'
  const email = (byEmail ? nameId : valueOf(attributes, names.email)).trim().toLowerCase()
  if (!isAddress(email))
    return { kind: 'refuse', why: byEmail ? 'The NameID is not an e-mail address' : 'There is no attribute "email"' }
  const decided = decideRoles(roleNames(attributes, doc), doc, roles)
  if (decided.kind === 'refuse') return decided
  const privileges = decided.names.flatMap((name) => roles.get(name) ?? [])
  return {
    kind: 'person',
    email,
    firstName: valueOf(attributes, names.firstName).slice(0, MAX_NAME_CHARS),
    lastName: valueOf(attributes, names.lastName).slice(0, MAX_NAME_CHARS),
    privileges: [...new Map(privileges.map((privilege) => [JSON.stringify(privilege), privilege])).values()],
  }
}

type RolesDecision =
  | { readonly kind: 'refuse'; readonly why: string }
  | { readonly kind: 'roles'; readonly names: string[] }

/**
 * Decides the roles of a person. An unknown role refuses the login unless unknown roles are ignored. So does having no
 * role, unless there is a default role.
 */
function decideRoles(named: readonly string[], doc: SsoDocument, roles: PersonRequest['roles']): RolesDecision {
  const unknown = named.filter((name) => !roles.has(name))
  if (unknown.length > 0 && doc.ignore_unmatched_roles !== true)
    return { kind: 'refuse', why: `There is no SSO role ${unknown.map((name) => `"${name}"`).join(', ')}` }
  const known = named.filter((name) => roles.has(name))
  if (known.length > 0) return { kind: 'roles', names: known }
  const fallback = doc.default_role ?? ''
  if (roles.has(fallback)) return { kind: 'roles', names: [fallback] }
  const why =
    fallback === '' ? 'No role was named and there is no default_role' : `default_role "${fallback}" is unknown`
  return { kind: 'refuse', why }
}

function roleNames(attributes: Assertion['attributes'], doc: SsoDocument): string[] {
  const values = attributes.get(doc.role_attr_from || 'Role') ?? []
  const extracted = doc.role_attr_extraction ? values.flatMap(commonName) : values
  return [...new Set(extracted.map((value) => value.trim()).filter((value) => value !== ''))]
}

/** Returns the `CN` of a distinguished name, or nothing unless there is exactly one. */
function commonName(distinguishedName: string): string[] {
  const found = distinguishedName
    .split(/(?<!\\),/)
    .flatMap((part) => /^\s*cn\s*=(.*)$/is.exec(part)?.[1] ?? [])
    .map((name) => name.replaceAll(/\\(.)/g, '$1'))
  return found.length === 1 ? found : []
}

function valueOf(attributes: Assertion['attributes'], wanted: readonly string[]): string {
  const byName = new Map([...attributes].map(([name, values]) => [name.toLowerCase(), values]))
  for (const name of wanted) {
    const value = byName.get(name)?.[0]?.trim()
    if (value !== undefined && value !== '') return value
  }
  return ''
}

function isAddress(text: string): boolean {
  return text.length <= 320 && /^[^\s@<>"(),:;\\]+@[^\s@<>"(),:;\\]+$/.test(text)
}
