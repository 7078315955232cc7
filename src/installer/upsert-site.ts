import { uuidv7 } from '../platform/uuidv7.ts'
import { type InOrg, coversOrg } from '../access/scope.ts'
import { listGroupsWithPrivileges } from '../accounts/grants/store.ts'
import { appendAudit } from '../events/append.ts'
import { auditDocument } from '../orgs/sites/create-site.ts'
import type { Installer } from '../orgs/installers/reach.ts'
import { isReachedSite, listSiteGroupsNamed, lockSitesNamed, updateSiteRow } from '../orgs/installers/store.ts'
import type { Document } from '../platform/json/document.ts'
import { listChangedGroups, mergeSite } from '../orgs/org.ts'
import { assertRoomForSite } from '../orgs/limits.ts'
import { lockAdditions } from '../orgs/store.ts'
import { type Site, countSites, insertSite } from '../orgs/sites/store.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../platform/errors.ts'

export interface SiteDefinition {
  /** As decoded from the path, where some clients write a `+` for a space. */
  readonly siteName: string
  /** As the client has read it; null if the request has none. */
  readonly id: string | null
  /** In wire shape; `name` is the site's name from now on. */
  readonly body: Document & { readonly name: string }
  /** Null: the request does not name groups. */
  readonly groupNames: readonly string[] | null
}

/**
 * Creates the site of that name, or updates it if it exists.
 * @throws AppError not_found for a site that the installer may not work on, and for a new one whose name differs from
 *   the path; forbidden for an installer of single sites who requests a new site or other groups, and for one of the
 *   organization who requests a group that privileges name, or to leave it; conflict if several sites have the name;
 *   invalid if the organization has the maximum of sites, for the name of another site, a name that can't be in a path,
 *   and unknown groups.
 */
export async function upsertSite(ctx: Context, installer: Installer, definition: SiteDefinition): Promise<void> {
  const { scope } = installer
  await inTx(ctx, async (tx) => {
    await lockAdditions(tx, scope)
    const at = ctx.clock.now()
    const before = await findSite(tx, installer, definition.siteName)
    if (definition.id !== null && definition.id !== before?.id)
      throw invalidField('id', `${definition.id} is not the id of the site ${definition.siteName}`)
    const body = await withGroups(tx, scope, definition)
    if (before === null) await addSite(tx, installer, { definition, body, at, maxSites: ctx.limits.sitesPerOrg })
    else await changeSite(tx, installer, { before, body, at })
  })
}

/** Returns the site with exactly this name, else the one whose name has spaces for the `+`; null if there is none. */
async function findSite(tx: Tx, { scope, reach }: Installer, siteName: string): Promise<Site | null> {
  const alike = await lockSitesNamed(tx, scope, siteName)
  const exact = alike.filter(({ name }) => name === siteName)
  const named = exact.length === 0 && siteName.includes('+') ? alike : exact
  const reached: Site[] = []
  for (const site of named) if (await isReachedSite(tx, scope, { reach, siteId: site.id })) reached.push(site)
  const [site, another] = reached
  if (another !== undefined) throw new AppError('conflict', 'Several sites have this name: rename one')
  if (site !== undefined) return site
  if (named.length > 0) throw notFound(siteName)
  return null
}

async function withGroups(tx: Tx, scope: InOrg, { body, groupNames }: SiteDefinition): Promise<Document> {
  if (groupNames === null) return body
  const groups = await listSiteGroupsNamed(tx, scope, groupNames)
  const ids = groupNames.map((wanted, index) => {
    const [group, another] = groups.filter(({ name }) => name === wanted)
    if (group === undefined) throw invalidField(`sitegroup_names.${index}`, 'no site group has this name')
    if (another !== undefined) throw invalidField(`sitegroup_names.${index}`, 'several site groups have this name')
    return group.id
  })
  return { ...body, sitegroup_ids: [...new Set(ids)] }
}

interface NewSite {
  readonly definition: SiteDefinition
  readonly body: Document
  readonly at: Date
  readonly maxSites: number
}

async function addSite(tx: Tx, installer: Installer, { definition, body, at, maxSites }: NewSite): Promise<void> {
  const { scope } = installer
  const {
    siteName,
    body: { name },
  } = definition
  if (!coversOrg(scope)) throw new AppError('forbidden', 'You do not have permission to perform this action.')
  // The request renames a site that does not exist.
  if (name.replaceAll('+', ' ') !== siteName.replaceAll('+', ' ')) throw notFound(siteName)
  assertPathName(name)
  const content = mergeSite(null, body)
  await assertMayRegroup(tx, installer, listChangedGroups(null, content))
  assertRoomForSite(await countSites(tx, scope), maxSites)
  const site = await insertSite(tx, scope, { id: uuidv7(), ...content, at })
  await appendAudit(tx, scope, { message: `Add Site "${name}"`, siteId: site.id, after: auditDocument(site), at })
}

interface ChangedSite {
  readonly before: Site
  readonly body: Document
  readonly at: Date
}

async function changeSite(tx: Tx, installer: Installer, { before, body, at }: ChangedSite): Promise<void> {
  const { scope } = installer
  const content = mergeSite(before, body)
  await assertMayRegroup(tx, installer, listChangedGroups(before, content))
  if (content.name !== before.name) {
    assertPathName(content.name)
    const taken = await lockSitesNamed(tx, scope, content.name)
    if (taken.some(({ id }) => id !== before.id)) throw invalidField('name', 'another site has it')
  }
  const after = await updateSiteRow(tx, scope, { id: before.id, ...content, at })
  await appendAudit(tx, scope, {
    message: `Update Site "${after.name}"`,
    siteId: after.id,
    before: auditDocument(before),
    after: auditDocument(after),
    at,
  })
}

/** Refuses changes that would grant installers, or revoke from others, the privileges of a group. */
async function assertMayRegroup(tx: Tx, { scope, mayWrite }: Installer, groupIds: readonly string[]): Promise<void> {
  if (mayWrite || groupIds.length === 0) return
  if (!coversOrg(scope))
    throw new AppError('forbidden', "Installers of single sites can't change their sitegroup_names")
  const [name] = await listGroupsWithPrivileges(tx, scope, groupIds)
  if (name === undefined) return
  throw new AppError(
    'forbidden',
    `sitegroup_names: privileges name the group "${name}", so installers can't change its sites`,
  )
}

/**
 * Refuses names that many clients and proxies could not carry in a path. Sites that already have such names keep them.
 */
function assertPathName(name: string): void {
  if (/[/\p{Cc}]|\p{Emoji_Presentation}|\p{Emoji}\u{fe0f}/u.test(name))
    throw invalidField('name', 'may have no slash, control character or emoji')
}
