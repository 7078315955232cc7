import type { Generated, GeneratedAlways } from 'kysely'
import type { WirePrivilege } from './accounts.ts'
import type { DefaultJson, Json } from './json.ts'

export interface OrgTable {
  id: string
  name: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}

export interface SiteTable {
  orgId: string
  id: string
  name: string
  timezone: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
  docBytes: GeneratedAlways<number>
}

export interface AdminTable {
  id: string
  email: string
  passwordHash: string | null
  firstName: string
  lastName: string
  createdAt: Date
  passwordModifiedAt: Date | null
  profile: DefaultJson<Record<string, unknown>>
  noTracking: boolean | null
  totpSecret: Buffer | null
  totpSince: Date | null
  /** A bigint: pg returns it as text. */
  totpLastStep: Generated<string>
  ssoId: string | null
  ssoSubject: string | null
}

export interface PrivilegeTable {
  orgId: string
  id: string
  adminId: string
  scope: 'org' | 'site' | 'sitegroup'
  role: 'admin' | 'write' | 'read' | 'helpdesk' | 'installer'
  siteId: string | null
  sitegroupId: string | null
  views: Generated<string[]>
}

export interface ApiTokenTable {
  id: string
  /** Null for a token of an organization. */
  adminId: string | null
  orgId: string | null
  privileges: Json<WirePrivilege[]> | null
  srcIps: Generated<string[]>
  createdBy: string | null
  name: string
  keyHash: Buffer
  keyHint: string
  createdAt: Date
  lastUsedAt: Date | null
}

export interface SessionTable {
  idHash: Buffer
  adminId: string
  createdAt: Date
  expiresAt: Date
  secondFactorMissing: Generated<boolean>
  secondFactorTries: Generated<number>
  secondFactorPassed: Generated<boolean>
  ssoId: string | null
  ssoSession: string | null
  lastSeenAt: Date | null
  passwordAt: Date | null
  provedAt: Date
  srcIp: string | null
  userAgent: string | null
}

export interface AuditLogTable {
  orgId: string
  id: string
  siteId: string | null
  adminId: string | null
  adminName: string | null
  message: string
  srcIp: string | null
  userAgent: string | null
  before: Json<Record<string, unknown>> | null
  after: Json<Record<string, unknown>> | null
  createdAt: Date
  bytes: GeneratedAlways<number>
}

export interface WebhookOutboxTable {
  id: string
  orgId: string
  siteId: string | null
  topic: string
  event: Json<Record<string, unknown>>
  createdAt: Date
  bytes: GeneratedAlways<number>
  routedTo: string | null
  setAsideAt: Date | null
  setAsideReason: string | null
}
