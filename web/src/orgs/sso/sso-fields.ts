import type { Schemas } from '../../api/client.ts'
import type { ShownField, Texts } from '../../display/forms/edits.ts'

export type Sso = Schemas['Sso']

export interface SsoField {
  readonly name:
    | 'name'
    | 'issuer'
    | 'idp_sso_url'
    | 'idp_cert'
    | 'idp_sign_algo'
    | 'nameid_format'
    | 'role_attr_from'
    | 'default_role'
    | 'custom_logout_url'
  readonly label: string
  readonly description?: string
  /** Absent: one line of text. */
  readonly choices?: readonly string[]
  readonly isLong?: boolean
}

/** What a SAML sign-in depends on, in the order in which people find it at their identity provider. */
export const ssoFields: readonly SsoField[] = [
  { name: 'name', label: 'Name' },
  { name: 'issuer', label: 'Issuer', description: 'The entity ID of the identity provider' },
  { name: 'idp_sso_url', label: 'Sign-in URL', description: 'Receives the requests of this service' },
  { name: 'idp_cert', label: 'Certificate', description: 'PEM, of the key that signs assertions', isLong: true },
  {
    name: 'idp_sign_algo',
    label: 'Weakest signature algorithm',
    description: 'Weaker ones are refused',
    choices: ['sha256', 'sha384', 'sha512', 'sha1'],
  },
  { name: 'nameid_format', label: 'NameID format', choices: ['email', 'unspecified'] },
  { name: 'role_attr_from', label: 'Role attribute', description: 'Empty: Role' },
  {
    name: 'default_role',
    label: 'Default role',
    description: 'For people without the attribute. Empty: they are refused',
  },
  { name: 'custom_logout_url', label: 'URL after the logout', description: 'Optional' },
]

export function shownField(name: string): ShownField {
  return ssoFields.find((field) => field.name === name) ?? { label: name }
}

/** Returns what the form begins with. */
export function textsOf(sso: Sso): Texts {
  return Object.fromEntries(ssoFields.map(({ name, choices }) => [name, sso[name] ?? choices?.[0] ?? '']))
}

/** Returns the fields that differ. */
export function changesOf(texts: Texts, sso: Sso): Partial<Sso> {
  const before = textsOf(sso)
  const changed = ssoFields.flatMap(({ name }) => {
    const text = texts[name] ?? ''
    return text === before[name] ? [] : [[name, text.trim()]]
  })
  return Object.fromEntries(changed) as Partial<Sso>
}
