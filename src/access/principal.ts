import type { PrivilegeTable } from './tables.ts'

export type Role = PrivilegeTable['role']

export interface Privilege {
  readonly orgId: string
  readonly orgName: string
  readonly scope: 'org' | 'site' | 'sitegroup'
  readonly role: Role
  readonly siteId: string | null
  readonly sitegroupId: string | null
  /** Restrict what a user interface shows, not what the API allows. */
  readonly views: readonly string[]
  /** The sites it covers at this moment. */
  readonly siteIds: 'all' | readonly string[]
}

/** Who proved who they are, with the privileges they have at this moment. */
export interface Principal {
  readonly via: 'token' | 'org_token' | 'session' | 'basic'
  /** Null for an organization's token, which is nobody's. */
  readonly adminId: string | null
  /** Null unless `via` is one of the tokens. */
  readonly tokenId: string | null
  /** Of a session: SHA-256 of the cookie's value. */
  readonly sessionHash: Buffer | null
  /** Name of an organization's token; empty for a person. */
  readonly tokenName: string
  /** Empty for an organization's token. */
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly passwordModifiedAt: Date | null
  readonly noTracking: boolean | null
  readonly profile: Readonly<Record<string, unknown>>
  /** Of an admin who comes from an identity provider. */
  readonly ssoId: string | null
  /** Has enrolled a second factor. */
  readonly hasSecondFactor: boolean
  /** `missing`: the password was right and the code is still to come; only a few operations are open. */
  readonly secondFactor: 'none' | 'missing' | 'passed'
  readonly privileges: readonly Privilege[]
}

/** "First Last email", the form that the audit log and its webhook topic use; a token's name for a token. */
export function actorName(principal: Pick<Principal, 'firstName' | 'lastName' | 'email' | 'tokenName'>): string {
  const { firstName, lastName, email, tokenName } = principal
  return [firstName, lastName, email, tokenName].filter((part) => part !== '').join(' ')
}
