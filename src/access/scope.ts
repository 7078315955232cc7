declare const granted: unique symbol

/** Who acts, as the audit log and the events name them. */
export interface Actor {
  readonly adminId: string | null
  /** "First Last email" for a person, the worker's name for the system. */
  readonly name: string
  readonly srcIp: string | null
  readonly userAgent: string | null
}

/** Proof that the caller may act in `orgId`. Only authorize() and systemScope() make one. */
export interface OrgScope {
  readonly [granted]: true
  readonly orgId: string
  readonly siteIds: 'all' | readonly string[]
  readonly actor: Actor
}

/** What of a scope decides which rows are read, whoever reads them. */
export type Reach = Pick<OrgScope, typeof granted | 'orgId' | 'siteIds'>

export function reachOf({ orgId, siteIds }: OrgScope): Reach {
  return grant({ orgId, siteIds })
}

/** Proof that the caller may act in one site of `orgId`. Only authorizeSite() and authorizeSiteNamed() make one. */
export interface SiteScope extends OrgScope {
  readonly siteId: string
}

/** The scope of a worker, which acts on what a person has asked for before. */
export type SystemScope = OrgScope & { readonly siteIds: 'all' }

export function systemScope(
  worker: 'rollout' | 'gateway' | 'firmware' | 'webhooks' | 'accounts' | 'operator',
  orgId: string,
): SystemScope {
  const actor: Actor = { adminId: null, name: worker, srcIp: null, userAgent: null }
  return grant({ orgId, siteIds: 'all', actor })
}

/** The scope in which a change of an admin's account is recorded in an organization of theirs. */
export function actorScope(actor: Actor, orgId: string): OrgScope {
  return grant({ orgId, siteIds: 'all', actor })
}

/** Makes the brand. Exported for authorize.ts alone; dependency-cruiser can't see names, reviewers can. */
export function grant<T extends Pick<OrgScope, 'orgId' | 'siteIds'>>(scope: T): T & { readonly [granted]: true } {
  return scope as T & { readonly [granted]: true }
}
