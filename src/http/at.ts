import { type TProperties, Type } from 'typebox'
import { type Caller, type Need, authorize, authorizeSite, authorizeSites } from '../access/authorize.ts'
import type { OrgScope, PlaceScope, SiteScope, SitesScope } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { Uuid } from './schemas.ts'

/**
 * The possible callers: members of an organization or of one site; anyone with an account; anyone with credentials,
 * including the token of an organization; anyone.
 */
export type Audience = 'org' | 'orgSites' | 'site' | 'installer' | 'person' | 'self' | 'nobody'

/**
 * The place of an operation, and its callers. The operation's `run` receives the `Scope` that `enter` proves, so no
 * operation can forget to authorize.
 */
export interface At<Scope, Who = Caller> {
  readonly audience: Audience
  /** The permission that the caller's role must include; null if roles don't matter. */
  readonly needs: Need | null
  /** Below /api/v1, with `:name` parameters. */
  readonly path: string
  /** Parameters of the part of the path that names the place. */
  readonly params: TProperties
  /** True if a session may call it before its second factor. */
  readonly beforeSecondFactor: boolean
  /** @throws AppError not_found, forbidden. */
  readonly enter: (
    ctx: Context,
    caller: Caller | undefined,
    params: Readonly<Record<string, string>>,
  ) => Promise<{ readonly scope: Scope; readonly caller: Who }>
}

interface Needing {
  readonly needs: Need
}

/** The whole organization: callers with only some of its sites are refused. */
export function org(path: string, { needs }: Needing): At<OrgScope> {
  return at(
    { audience: 'org', needs, path: `/orgs/:org_id${path}`, params: { org_id: Uuid } },
    (_ctx, caller, params) => authorize(caller, { orgId: params['org_id'] ?? '', needs }),
  )
}

/** An organization, or those of its sites in which the caller may act: the scope lists them. */
export function orgSites(path: string, { needs }: Needing): At<SitesScope> {
  return at(
    { audience: 'orgSites', needs, path: `/orgs/:org_id${path}`, params: { org_id: Uuid } },
    (_ctx, caller, params) => authorizeSites(caller, { orgId: params['org_id'] ?? '', needs }),
  )
}

/** One site. */
export function site(path: string, { needs }: Needing): At<SiteScope> {
  return at(
    { audience: 'site', needs, path: `/sites/:site_id${path}`, params: { site_id: Uuid } },
    (ctx, caller, params) => authorizeSite(ctx, caller, { siteId: params['site_id'] ?? '', needs }),
  )
}

/** An operation that organizations and sites both have: one declaration makes two operations. */
export interface Twins<Scope> {
  readonly org: At<Scope>
  readonly site: At<Scope>
}

/** The place of a declaration. */
export type Location = At<unknown, unknown> | Twins<unknown>

export type ScopeAt<L extends Location> = L extends At<infer Scope, unknown> | Twins<infer Scope> ? Scope : never
export type CallerAt<L extends Location> = L extends At<unknown, infer Who> ? Who : Caller

/** The whole organization, and one site. */
export function orgAndSite(path: string, needing: Needing): Twins<PlaceScope> {
  return { org: org(path, needing), site: site(path, needing) }
}

/** An organization or those of its sites in which the caller may act, and one site. */
export function orgSitesAndSite(path: string, needing: Needing): Twins<SitesScope> {
  return { org: orgSites(path, needing), site: site(path, needing) }
}

/** Callers who are logged in or have a token. */
export function self(path: string, options: { readonly beforeSecondFactor?: boolean } = {}): At<null> {
  return at({ audience: 'self', needs: null, path, params: {}, ...options }, () => null)
}

/** Callers without credentials, or whose credentials don't matter here. */
export function nobody(path: string): At<null, undefined> {
  return {
    audience: 'nobody',
    needs: null,
    path,
    params: {},
    beforeSecondFactor: false,
    enter: () => Promise.resolve({ scope: null, caller: undefined }),
  }
}

type Address = Pick<At<unknown>, 'audience' | 'needs' | 'path' | 'params'> & {
  readonly beforeSecondFactor?: boolean | undefined
}

/** A place with a caller, who is authenticated before `enter` is called. */
export function at<Scope>(
  { beforeSecondFactor = false, ...address }: Address,
  enter: (ctx: Context, caller: Caller, params: Readonly<Record<string, string>>) => Promise<Scope> | Scope,
): At<Scope> {
  return {
    ...address,
    beforeSecondFactor,
    enter: async (ctx, caller, params) => {
      if (caller === undefined) throw new Error(`${address.path} was called without a caller`)
      return { scope: await enter(ctx, caller, params), caller }
    },
  }
}

/** Returns the schema of all parameters of a path. */
export function paramsOf(place: Pick<At<unknown>, 'params'>, params: TProperties) {
  return Type.Object({ ...place.params, ...params })
}
