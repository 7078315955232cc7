import type { GeneratedAlways, Selectable } from 'kysely'
import type { WirePrivilege } from '../access/tables.ts'
import type { Json } from '../platform/database/json-column.ts'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    pendingRegistration: PendingRegistrationTable
    mailedToken: MailedTokenTable
    mailSent: MailSentTable
    invite: InviteTable
    recoveryCode: RecoveryCodeTable
    loginFailure: LoginFailureTable
    accountLog: AccountLogTable
    oauthIdentity: OauthIdentityTable
    oauthFlow: OauthFlowTable
    oauthCode: OauthCodeTable
    sso: SsoTable
    ssoRole: SsoRoleTable
    ssoFailure: SsoFailureTable
    samlRequest: SamlRequestTable
    samlAssertionUsed: SamlAssertionUsedTable
  }
}

/** The data of a registration request, in wire shape. It is stored until the address has been verified. */
export interface RegistrationDocument {
  readonly first_name: string
  readonly last_name: string
  readonly org_name: string
  readonly account_only: boolean
  readonly allow_mist?: boolean
  readonly no_tracking?: boolean
  /** The browser's URL after the address has been verified. */
  readonly return_to?: string
  /** The person's address: `city`, `street_address 2` and so on. */
  readonly profile: Readonly<Record<string, string>>
  /** Hex of the SHA-256 of an invitation's token. */
  readonly invite_token_hash?: string
  /**
   * Why the rules of the inviting organization refuse the password, which only the registration knows in plain text.
   */
  readonly unfit_for_invite?: UnfitPassword
}

export interface UnfitPassword {
  /** The end of a sentence that starts with "The password". */
  readonly reason: string
  readonly min_length: number
}

/** The document of a used registration, with its content erased. */
export interface ErasedDocument {
  readonly first_name?: undefined
}

export interface PendingRegistrationTable {
  id: string
  tokenHash: Buffer
  email: string
  passwordHash: string
  doc: DocumentColumn<RegistrationDocument | ErasedDocument>
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
}

export interface MailedTokenTable {
  tokenHash: Buffer
  purpose: 'recover' | 'change_email'
  adminId: string
  doc: DocumentColumn
  createdAt: Date
  expiresAt: Date
}

export interface MailSentTable {
  addressHash: Buffer
  id: string
  sentAt: Date
}

/** The grants of an invitation to the person who accepts it. */
export interface InviteDocument {
  readonly first_name?: string
  readonly last_name?: string
  /** Hours from the last sending during which it can be accepted. */
  readonly hours: number
  readonly privileges: readonly WirePrivilege[]
}

export interface InviteTable {
  orgId: string
  id: string
  email: string
  tokenHash: Buffer
  doc: DocumentColumn<InviteDocument>
  invitedBy: string | null
  createdAt: Date
  expiresAt: Date
}

export type Invite = Selectable<InviteTable>

export interface RecoveryCodeTable {
  adminId: string
  codeHash: Buffer
}

export interface LoginFailureTable {
  adminId: string
  id: string
  srcIp: string | null
  userAgent: string | null
  createdAt: Date
}

export interface AccountLogTable {
  adminId: string
  id: string
  message: string
  srcIp: string | null
  userAgent: string | null
  before: Json<Record<string, unknown>> | null
  after: Json<Record<string, unknown>> | null
  createdAt: Date
  bytes: GeneratedAlways<number>
}

export interface OauthIdentityTable {
  provider: string
  issuer: string
  subject: string
  adminId: string
}

export interface OauthFlowTable {
  stateHash: Buffer
  provider: string
  purpose: 'link' | 'login'
  boundHash: Buffer
  sealed: Buffer
  forward: string | null
  createdAt: Date
  expiresAt: Date
}

export interface OauthCodeTable {
  codeHash: Buffer
  provider: string
  purpose: 'link' | 'login'
  boundHash: Buffer
  sealed: Buffer
  expiresAt: Date
}

/** The fields of an SSO that clients set, in wire shape. An empty text counts as unset. */
export interface SsoDocument {
  readonly name: string
  readonly idp_type?: 'saml' | 'ldap' | 'mxedge_proxy' | 'oauth' | 'openroaming'
  /** The identity provider's name for itself. */
  readonly issuer?: string
  /** One or several certificates in PEM (several while the provider replaces its key), or the base64 of one in DER. */
  readonly idp_cert?: string
  readonly idp_sign_algo?: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  /** The URL to which browsers are sent to sign in. */
  readonly idp_sso_url?: string
  readonly nameid_format?: 'email' | 'unspecified'
  /** The URL to which browsers are sent after they have signed out here. */
  readonly custom_logout_url?: string
  /** The attribute that names the roles; `Role` if unset. */
  readonly role_attr_from?: string
  /** `CN` if the attribute's values are distinguished names, of which only the common name counts. */
  readonly role_attr_extraction?: string
  /** The role of people for whom the identity provider names none. */
  readonly default_role?: string
  readonly ignore_unmatched_roles?: boolean
}

export interface SsoTable {
  orgId: string
  id: string
  domain: string
  doc: DocumentColumn<SsoDocument>
  createdAt: Date
  modifiedAt: Date
}

export interface SsoRoleTable {
  orgId: string
  id: string
  name: string
  privileges: Json<WirePrivilege[]>
  createdAt: Date
  modifiedAt: Date
}

export interface SsoFailureTable {
  orgId: string
  id: string
  ssoId: string
  detail: string
  assertion: string
  createdAt: Date
}

export interface SamlRequestTable {
  id: string
  ssoId: string
  boundHash: Buffer
  forward: string | null
  expiresAt: Date
}

export interface SamlAssertionUsedTable {
  ssoId: string
  assertionId: string
  expiresAt: Date
}
