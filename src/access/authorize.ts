import type { Context } from '../platform/context.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { assertOpen } from './closed-orgs.ts'
import { type Principal, type Privilege, type Role, actorName } from './principal.ts'
import { type Actor, type OrgScope, type SiteScope, type SitesScope, coversOrg, grant } from './scope.ts'
import { findOrgOfSite, findSitesNamed, findSitesNamedLike } from './authentication/store.ts'

/** The caller of a request, and the address it came from. */
export interface Caller {
  readonly principal: Principal
  readonly srcIp: string
  readonly userAgent: string | null
}

/**
 * `operate` acts on devices without changing configuration (restart). `install` is what people who mount devices need,
 * all of it under /installer.
 */
export type Need = 'read' | 'operate' | 'install' | 'write' | 'admin'

const rolesThatMay: Record<Need, ReadonlySet<Role>> = {
  read: new Set(['admin', 'write', 'read', 'helpdesk']),
  install: new Set(['admin', 'write', 'installer']),
  operate: new Set(['admin', 'write', 'helpdesk']),
  write: new Set(['admin', 'write']),
  admin: new Set(['admin']),
}

/** Returns the roles that are enough for `need`, the largest first. */
export function rolesFor(need: Need): Role[] {
  return [...rolesThatMay[need]]
}

export interface OrgRequest {
  readonly orgId: string
  readonly needs: Need
}

/**
 * @throws AppError not_found if the caller has no privilege in the organization (as for one that does not exist);
 *   forbidden if the privilege is too small, or covers only some of its sites; as assertOpen().
 */
export function authorize(caller: Caller, request: OrgRequest): OrgScope {
  const scope = authorizeSites(caller, request)
  if (!coversOrg(scope)) throw tooLittle()
  return scope
}

/**
 * Does the same as authorize(), but also admits callers whose privileges name single sites; the scope lists these sites.
 * @throws AppError as authorize().
 */
export function authorizeSites(caller: Caller, { orgId, needs }: OrgRequest): SitesScope {
  const here = caller.principal.privileges.filter((privilege) => privilege.orgId === orgId)
  if (here.length === 0) throw notFound(orgId)
  assertOpen(caller.principal, orgId)
  const siteIds = siteIdsOf(here.filter((privilege) => rolesThatMay[needs].has(privilege.role)))
  if (siteIds.length === 0) throw tooLittle()
  return grant({ orgId, siteIds, actor: actorOf(caller) })
}

/**
 * Returns the scope of an organization that the caller is about to create, in which no privileges exist yet.
 * @throws AppError forbidden for callers who could not become its administrator: tokens of organizations, accounts of
 *   another organization's identity provider, and installers.
 */
export function authorizeNewOrg(caller: Caller, orgId: string): OrgScope {
  const { adminId, ssoId, privileges } = caller.principal
  const onlyInstalls = privileges.length > 0 && privileges.every(({ role }) => role === 'installer')
  if (adminId === null || ssoId !== null || onlyInstalls) throw tooLittle()
  return grant({ orgId, siteIds: 'all', actor: actorOf(caller) } as const)
}

/** @throws AppError as authorize(); a site outside the caller's organizations is not found. */
export async function authorizeSite(
  ctx: Context,
  caller: Caller,
  { siteId, needs }: { readonly siteId: string; readonly needs: Need },
): Promise<SiteScope> {
  const { privileges, site } = caller.principal
  const orgId = site?.id === siteId ? site.orgId : await findOrgOfSite(ctx.hotDb, siteId)
  // One of another organization looks like a missing one.
  const here = privileges.filter((privilege) => privilege.orgId === orgId && covers(privilege, siteId))
  if (orgId === null || here.length === 0) throw notFound(siteId)
  assertOpen(caller.principal, orgId)
  if (!here.some((privilege) => rolesThatMay[needs].has(privilege.role))) throw tooLittle()
  return grant({ orgId, siteId, siteIds: [siteId], actor: actorOf(caller) } as const)
}

/**
 * Does the same as authorizeSite() for a site that is known by its name.
 * @param siteName As decoded from a path, where some clients write a `+` for a space: the exact name is tried first.
 * @throws AppError as authorize(); not_found; conflict if several sites that the caller may act in have the name,
 *   because a guess could change the wrong one.
 */
export async function authorizeSiteNamed(
  ctx: Context,
  caller: Caller,
  { orgId, siteName, needs }: { readonly orgId: string; readonly siteName: string; readonly needs: Need },
): Promise<SiteScope> {
  const { siteIds, actor } = authorizeSites(caller, { orgId, needs })
  let found = await findSitesNamed(ctx.db, { orgId, siteIds }, siteName)
  if (found.length === 0 && siteName.includes('+'))
    found = await findSitesNamedLike(ctx.db, { orgId, siteIds }, siteName)
  const [siteId, another] = found
  if (siteId === undefined) throw notFound(siteName)
  if (another !== undefined) throw new AppError('conflict', 'Several sites have this name: rename one, or use its id')
  return grant({ orgId, siteId, siteIds: [siteId], actor } as const)
}

/** True if the caller's privileges allow `needs` within `scope`. */
export function may(
  caller: Caller,
  scope: Pick<OrgScope, 'orgId'> & Partial<Pick<SiteScope, 'siteId'>>,
  needs: Need,
): boolean {
  const siteId = scope.siteId ?? null
  const { privileges, closedOrgs } = caller.principal
  if (closedOrgs.has(scope.orgId)) return false
  return privileges.some(
    (privilege) =>
      privilege.orgId === scope.orgId && covers(privilege, siteId) && rolesThatMay[needs].has(privilege.role),
  )
}

function siteIdsOf(privileges: readonly Privilege[]): 'all' | string[] {
  const siteIds = new Set<string>()
  for (const privilege of privileges) {
    if (privilege.siteIds === 'all') return 'all'
    for (const siteId of privilege.siteIds) siteIds.add(siteId)
  }
  return [...siteIds]
}

/** A `siteId` of null stands for the whole organization. */
function covers({ siteIds }: Privilege, siteId: string | null): boolean {
  return siteIds === 'all' || (siteId !== null && siteIds.includes(siteId))
}

/** Returns the actor of a request for audit records. */
export function actorOf({ principal, srcIp, userAgent }: Caller): Actor {
  return { adminId: principal.adminId, name: actorName(principal), srcIp, userAgent }
}

function tooLittle(): AppError {
  return new AppError('forbidden', 'You do not have permission to perform this action.')
}
