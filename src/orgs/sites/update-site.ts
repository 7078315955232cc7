import type { SiteScope } from '../../access/scope.ts'
import type { SiteVersion } from '../../access/tables.ts'
import { type Audit, appendAudit, auditRecord } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { auditDocument } from './create-site.ts'
import { AppError } from '../../platform/errors.ts'
import type { Document } from '../../platform/json/document.ts'
import { type SiteDocument, listChangedGroups, mergeSite } from '../org.ts'
import { createSiteTurns } from './site-turns.ts'
import { type Site, type VersionedSite, lockSiteAlone, updateSiteAtCommit, updateSiteVersion } from './store.ts'

export interface SiteUpdate {
  readonly body: Document
  /** True if the caller may change the site's groups, which decide the privileges of others in it. */
  readonly mayRegroup: boolean
  /** What a read during this request has found; null if there was none. */
  readonly found: SiteVersion | null
}

/**
 * Returns a function that replaces the top-level fields that `body` names; see mergeDocument(). A site that has been read
 * already is changed without a lock if it is still the same, in one statement. Changes of a site take turns, and each begins with
 * the content that the one before has written; see decision 374.
 * @throws AppError forbidden for a change of groups by a caller who may not make it.
 */
export function createUpdateSite(): (ctx: Context, scope: SiteScope, update: SiteUpdate) => Promise<Site> {
  const takeTurn = createSiteTurns()
  return async (ctx, scope, update) => {
    const { found } = update
    const isOfScope = found !== null && found.orgId === scope.orgId && found.id === scope.siteId
    const updated = isOfScope
      ? await takeTurn(found, (latest) => updateFound(ctx, scope, { ...update, found: latest }))
      : undefined
    return updated ?? updateLocked(ctx, scope, update)
  }
}

/** @returns Undefined if the site has changed since it was found, or if the change would be refused for what was found. */
async function updateFound(
  ctx: Context,
  scope: SiteScope,
  { found, ...update }: SiteUpdate & { readonly found: SiteVersion },
): Promise<VersionedSite | undefined> {
  const at = ctx.clock.now()
  const content = mergeSite(found, update.body)
  // What was found may be outdated. Only the locked site decides that a change is refused.
  if (isForbidden(found, content, update)) return undefined
  const record = auditRecord(scope, auditOf(scope, { before: found, content, at }))
  return updateSiteVersion(ctx, found, { site: { ...content, at }, record })
}

async function updateLocked(ctx: Context, scope: SiteScope, update: SiteUpdate): Promise<Site> {
  const at = ctx.clock.now()
  const updated = await inTx(ctx, async (tx) => {
    const before = await lockSiteAlone(tx, scope)
    const content = mergeSite(before, update.body)
    if (isForbidden(before, content, update))
      throw new AppError('forbidden', "Writers of single sites can't change their sitegroup_ids")
    const row = updateSiteAtCommit(tx, scope, { ...content, at })
    await appendAudit(tx, scope, auditOf(scope, { before, content, at }))
    return row
  })
  return updated()
}

type Before = Omit<Site, 'docBytes'>

function isForbidden(before: Before, after: SiteDocument, { mayRegroup }: Pick<SiteUpdate, 'mayRegroup'>): boolean {
  return !mayRegroup && listChangedGroups(before, after).length > 0
}

interface SiteChange {
  readonly before: Before
  readonly content: SiteDocument
  readonly at: Date
}

function auditOf({ siteId }: SiteScope, { before, content, at }: SiteChange): Audit {
  return {
    message: `Update Site "${content.name}"`,
    siteId,
    siteName: content.name,
    before: auditDocument(before),
    after: auditDocument(content),
    at,
  }
}
