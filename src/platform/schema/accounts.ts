import type { Json } from './json.ts'

export interface PendingRegistrationTable {
  id: string
  tokenHash: Buffer
  email: string
  passwordHash: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
}

export interface MailedTokenTable {
  tokenHash: Buffer
  purpose: 'recover' | 'change_email'
  adminId: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  expiresAt: Date
}

export interface MailSentTable {
  addressHash: Buffer
  id: string
  sentAt: Date
}

export interface InviteTable {
  orgId: string
  id: string
  email: string
  tokenHash: Buffer
  doc: Json<Record<string, unknown>>
  invitedBy: string | null
  createdAt: Date
  expiresAt: Date
}

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
}

export interface OauthIdentityTable {
  provider: string
  issuer: string
  subject: string
  adminId: string
  linkedAt: Date
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

export interface SsoTable {
  orgId: string
  id: string
  domain: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}

/** A privilege in wire shape, as organization tokens, roles and invites keep it. */
export interface WirePrivilege {
  readonly scope: 'org' | 'site' | 'sitegroup'
  readonly role: 'admin' | 'write' | 'read' | 'helpdesk' | 'installer'
  readonly site_id?: string
  readonly sitegroup_id?: string
  readonly views?: readonly string[]
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

export interface OrgSettingTable {
  orgId: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}
