/**
 * The brands of scopes. A protected member is lost in a copy such as `{ ...scope, siteIds: 'all' }`, so the compiler does
 * not accept the copy as a scope: nobody widens a scope, or moves it to another organization, by replacing a member.
 */
declare class Granted {
  protected readonly granted: true
}
declare class GrantedPerson {
  protected readonly granted: true
}

/** The actor, as named in the audit log and in events. */
export interface Actor {
  readonly adminId: string | null
  /** "First Last email" for a person, the worker's name for the system. */
  readonly name: string
  readonly srcIp: string | null
  readonly userAgent: string | null
}

/**
 * Proof that the caller may act in `orgId`, in any part of it. It proves nothing about sites, so it suffices only for
 * objects without a site: audit records, rows of the organization that all its members see, and rows by ids that a read
 * with one of the scopes below has found. Only authorize.ts and the functions of this file create scopes.
 */
export interface InOrg extends Granted {
  readonly orgId: string
  readonly actor: Actor
}

/** Proof that the caller may act in these sites of `orgId`: code that reads or writes with it filters by them. */
export interface SitesScope extends InOrg {
  readonly siteIds: 'all' | readonly string[]
}

/** Proof that the caller may act in the whole of `orgId`. */
export interface OrgScope extends SitesScope {
  readonly siteIds: 'all'
}

/** Returns true if the scope covers the whole organization, not some of its sites. */
export function coversOrg(scope: SitesScope): scope is OrgScope {
  return scope.siteIds === 'all'
}

/** Proof that the caller may act in one site of `orgId`. */
export interface SiteScope extends SitesScope {
  readonly siteId: string
  readonly siteIds: readonly [siteId: string]
}

/** Proof for a place that has its own objects, such as webhooks: an organization or a site. */
export type PlaceScope = OrgScope | SiteScope

/**
 * Proof that the caller is this person: it covers the account itself, and nothing in an organization. Only adminScope()
 * creates it.
 */
export interface AdminScope extends GrantedPerson {
  readonly adminId: string
}

/**
 * Returns the scope of a person who has proved their identity by the password, by a token that was mailed to the
 * account's address, by an identity provider, or by a session or an API token of their own. An account that is being
 * created counts as its creator's. It must never be called with an id from a client.
 */
export function adminScope(adminId: string): AdminScope {
  return { adminId } as AdminScope
}

/**
 * Returns the site of a scope that an operation of one site received; null if an operation of an organization received
 * it.
 */
export function siteIdOf(scope: SitesScope): string | null {
  return 'siteId' in scope && typeof scope.siteId === 'string' ? scope.siteId : null
}

/** The part of a scope that decides which rows are read, independently of the caller. */
export interface ReadScope extends Granted {
  readonly orgId: string
  readonly siteIds: SitesScope['siteIds']
}

export function readScopeOf({ orgId, siteIds }: SitesScope): ReadScope {
  return grant({ orgId, siteIds })
}

type Worker = 'stream' | 'rollout' | 'gateway' | 'firmware' | 'webhooks' | 'accounts' | 'operator'

function systemActor(worker: Worker): Actor {
  return { adminId: null, name: worker, srcIp: null, userAgent: null }
}

/** Returns the scope of a worker, which carries out earlier requests of people. */
export function systemScope(worker: Worker, orgId: string): OrgScope {
  return grant({ orgId, siteIds: 'all', actor: systemActor(worker) } as const)
}

/** Like systemScope(), for objects of a site if `siteId` is set, and of the organization itself if it is null. */
export function systemScopeOf(
  worker: Worker,
  { orgId, siteId }: { readonly orgId: string; readonly siteId: string | null },
): PlaceScope {
  return siteId === null ? systemScope(worker, orgId) : systemSiteScope(worker, { orgId, siteId })
}

/** Like systemScope(), for one site. */
export function systemSiteScope(
  worker: Worker,
  { orgId, siteId }: { readonly orgId: string; readonly siteId: string },
): SiteScope {
  return grant({ orgId, siteId, siteIds: [siteId], actor: systemActor(worker) } as const)
}

/** Returns the scope in which a change of an admin's account is recorded in an organization of theirs. */
export function actorScope(actor: Actor, orgId: string): OrgScope {
  return grant({ orgId, siteIds: 'all', actor } as const)
}

/** Creates the brand. Only authorize.ts may import it, which scripts/check-scopes.mjs checks. */
export function grant<T extends Pick<SitesScope, 'orgId' | 'siteIds'>>(scope: T): T & Granted {
  return scope as T & Granted
}
