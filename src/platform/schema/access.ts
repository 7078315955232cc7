import type { Json } from './json.ts'

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
}

export interface AdminTable {
  id: string
  email: string
  passwordHash: string | null
  firstName: string
  lastName: string
  createdAt: Date
  passwordModifiedAt: Date | null
}

export interface PrivilegeTable {
  orgId: string
  id: string
  adminId: string
  scope: 'org' | 'site'
  role: 'admin' | 'write' | 'read' | 'helpdesk' | 'installer'
  siteId: string | null
}

export interface ApiTokenTable {
  id: string
  adminId: string
  name: string
  keyHash: Buffer
  keyHint: string
  createdAt: Date
}

export interface SessionTable {
  idHash: Buffer
  adminId: string
  createdAt: Date
  expiresAt: Date
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
}

export interface WebhookOutboxTable {
  id: string
  orgId: string
  siteId: string | null
  topic: string
  event: Json<Record<string, unknown>>
  createdAt: Date
}
