import type { AccessPolicy, ClosedBecause } from './decide-policy.ts'
import type { PrivilegeTable, SiteVersion } from './tables.ts'

export type Role = PrivilegeTable['role']

export interface Privilege {
  readonly orgId: string
  readonly orgName: string
  readonly scope: PrivilegeTable['scope']
  readonly role: Role
  readonly siteId: string | null
  readonly sitegroupId: string | null
  /** Restricts what a user interface shows, not what the API allows. */
  readonly views: readonly string[] | null
  /** The sites that the privilege covers at this moment. */
  readonly siteIds: 'all' | readonly string[]
  /** The demands of the organization on people; null if it has none. */
  readonly policy: AccessPolicy | null
}

/** A site that the path of a request names. */
export interface NamedSite {
  /** As the path has it. */
  readonly id: string
  /** Null if there is no such site. It need not be an organization of the caller. */
  readonly orgId: string | null
  /** Null unless the operation reads it, and for a large one. */
  readonly content: SiteVersion | null
}

/** An authenticated caller with their current privileges. */
export interface Principal {
  readonly via: 'token' | 'org_token' | 'session' | 'basic'
  /** Null for an organization's token, which belongs to nobody. */
  readonly adminId: string | null
  /** Null unless `via` is one of the tokens. */
  readonly tokenId: string | null
  /** SHA-256 of the session cookie's value. */
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
  /** The identity provider that manages the account, if any. */
  readonly ssoId: string | null
  /** True if the person has enrolled a second factor. */
  readonly hasSecondFactor: boolean
  /** `missing`: the password was right and the code is still to come; only a few operations are open. */
  readonly secondFactor: 'none' | 'missing' | 'passed'
  readonly privileges: readonly Privilege[]
  /** The organizations of the privileges that are closed to this caller by their own policies. */
  readonly closedOrgs: ReadonlyMap<string, ClosedBecause>
  /** The site of the request, if it was looked up together with the credentials; otherwise null. */
  readonly site: NamedSite | null
}

/** Returns "First Last email", the form of the audit log and its webhook topic; for a token, its name. */
export function actorName(principal: Pick<Principal, 'firstName' | 'lastName' | 'email' | 'tokenName'>): string {
  const { firstName, lastName, email, tokenName } = principal
  return [firstName, lastName, email, tokenName].filter((part) => part !== '').join(' ')
}
