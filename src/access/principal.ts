import type { PrivilegeTable } from '../platform/schema/access.ts'

export type Role = PrivilegeTable['role']

export interface Privilege {
  readonly orgId: string
  readonly orgName: string
  readonly scope: 'org' | 'site'
  readonly role: Role
  readonly siteId: string | null
}

/** An admin who proved who they are, with the privileges they have at this moment. */
export interface Principal {
  readonly via: 'token' | 'session' | 'basic'
  readonly adminId: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly passwordModifiedAt: Date | null
  readonly privileges: readonly Privilege[]
}

/** "First Last email", the form that the audit log and its webhook topic use. */
export function actorName(admin: Pick<Principal, 'firstName' | 'lastName' | 'email'>): string {
  return [admin.firstName, admin.lastName, admin.email].filter((part) => part !== '').join(' ')
}
