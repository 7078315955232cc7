declare const granted: unique symbol

/** Who acts, as the audit log and the events name them. */
export interface Actor {
  readonly adminId: string | null
  /** "First Last email" for a person, the worker's name for the system. */
  readonly name: string
  readonly srcIp: string | null
  readonly userAgent: string | null
}

/**
 * Proof that the caller may act in `orgId`, in whatever part of it. It says nothing about sites, so it is enough only for
 * what has no site: records of what was done, rows of the organization that all its members see, and rows by ids that a
 * read with one of the scopes below has found. Only authorize.ts and the functions of this file make scopes.
 */
export interface InOrg {
  readonly [granted]: true
  readonly orgId: string
  readonly actor: Actor
}

/** Proof that the caller may act in these sites of `orgId`: who reads or writes with it filters by them. */
export interface SitesScope extends InOrg {
  readonly siteIds: 'all' | readonly string[]
}

/** Proof that the caller may act in the whole of `orgId`. */
export interface OrgScope extends SitesScope {
  readonly siteIds: 'all'
}

/** Whether the scope is of the whole organization, not of some of its sites. */
export function coversOrg(scope: SitesScope): scope is OrgScope {
  return scope.siteIds === 'all'
}

/** Proof that the caller may act in one site of `orgId`. */
export interface SiteScope extends SitesScope {
  readonly siteId: string
  readonly siteIds: readonly [siteId: string]
}

/** Proof for a place that has webhooks and the like of its own: an organization, or a site. */
export type PlaceScope = OrgScope | SiteScope

/**
 * Proof that the caller is this person: enough for what belongs to the account itself, and for nothing of an organization.
 * Only adminScope() makes it.
 */
export interface AdminScope {
  readonly [granted]: true
  readonly adminId: string
}

/**
 * The scope of a person who has proved who they are: by the password, by a token that was mailed to the account's
 * address, by a provider of identities, or by a session or an API token of their own. An account that is being created
 * counts as its creator's. Never call it with an id that a client has sent.
 */
export function adminScope(adminId: string): AdminScope {
  return { adminId } as AdminScope
}

/** The site of a scope that an operation of one site gave; null where it came from an operation of an organization. */
export function siteIdOf(scope: SitesScope): string | null {
  return 'siteId' in scope && typeof scope.siteId === 'string' ? scope.siteId : null
}

/** What of a scope decides which rows are read, whoever reads them. */
export type Reach = Pick<SitesScope, typeof granted | 'orgId' | 'siteIds'>

export function reachOf({ orgId, siteIds }: SitesScope): Reach {
  return grant({ orgId, siteIds })
}

type Worker = 'rollout' | 'gateway' | 'firmware' | 'webhooks' | 'accounts' | 'operator'

function systemActor(worker: Worker): Actor {
  return { adminId: null, name: worker, srcIp: null, userAgent: null }
}

/** The scope of a worker, which acts on what a person has asked for before. */
export function systemScope(worker: Worker, orgId: string): OrgScope {
  return grant({ orgId, siteIds: 'all', actor: systemActor(worker) } as const)
}

/** As systemScope(), for what belongs to a site where `siteId` names one, and to the organization itself where it is null. */
export function systemScopeOf(
  worker: Worker,
  { orgId, siteId }: { readonly orgId: string; readonly siteId: string | null },
): PlaceScope {
  if (siteId === null) return systemScope(worker, orgId)
  return grant({ orgId, siteId, siteIds: [siteId], actor: systemActor(worker) } as const)
}

/** The scope in which a change of an admin's account is recorded in an organization of theirs. */
export function actorScope(actor: Actor, orgId: string): OrgScope {
  return grant({ orgId, siteIds: 'all', actor } as const)
}

/** Makes the brand. Exported for authorize.ts alone; dependency-cruiser can't see names, reviewers can. */
export function grant<T extends Pick<SitesScope, 'orgId' | 'siteIds'>>(scope: T): T & { readonly [granted]: true } {
  return scope as T & { readonly [granted]: true }
}
