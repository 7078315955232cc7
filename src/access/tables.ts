import type { Generated, GeneratedAlways, Selectable } from 'kysely'
import type { DefaultJson, Json } from '../platform/database/json-column.ts'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'
import type { AccessPolicy } from './decide-policy.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    org: OrgTable
    site: SiteTable
    admin: AdminTable
    privilege: PrivilegeTable
    apiToken: ApiTokenTable
    session: SessionTable
  }
}

export interface OrgTable {
  id: string
  name: string
  doc: DocumentColumn
  createdAt: Date
  modifiedAt: Date
  /**
   * The account that created it; null: the operator, or created before this column existed. The account may be deleted.
   */
  createdBy: string | null
  /** Follows from the settings; null if they demand nothing. */
  accessPolicy: DefaultJson<AccessPolicy> | null
}

export interface SiteTable {
  orgId: string
  id: string
  name: string
  timezone: string
  doc: DocumentColumn
  createdAt: Date
  modifiedAt: Date
  docBytes: GeneratedAlways<number>
}

/** A site as a statement has read it. */
export interface SiteVersion extends Omit<Selectable<SiteTable>, 'docBytes'> {
  /** Differs after any change of the row. */
  readonly version: string
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
  /** `orgsites`: every site of the organization, but nothing of the organization itself. */
  scope: 'org' | 'orgsites' | 'site' | 'sitegroup'
  role: 'admin' | 'write' | 'read' | 'helpdesk' | 'installer'
  siteId: string | null
  sitegroupId: string | null
  /** Null if no client has sent one. */
  views: string[] | null
}

export interface ApiTokenTable {
  id: string
  /** Null for a token of an organization. */
  adminId: string | null
  orgId: string | null
  privileges: Json<WirePrivilege[]> | null
  /** Null if no client has sent any, as an empty list; then the token works from every address. */
  srcIps: string[] | null
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
  closedOrgIds: Generated<string[]>
}

/** A privilege in wire shape, as organization tokens, roles and invitations store it. */
export interface WirePrivilege {
  readonly scope: PrivilegeTable['scope']
  readonly role: 'admin' | 'write' | 'read' | 'helpdesk' | 'installer'
  readonly site_id?: string
  readonly sitegroup_id?: string
  readonly views?: readonly string[]
}
