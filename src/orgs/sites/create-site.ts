import { uuidv7 } from '../../platform/uuidv7.ts'
import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Document } from '../../platform/json/document.ts'
import { type SiteDocument, mergeSite } from '../org.ts'
import { omitSecrets } from '../secrets/secrets.ts'
import { lockAdditions } from '../store.ts'
import { assertRoomForSite } from '../limits.ts'
import { type Site, countSites, insertSite } from './store.ts'

/** @throws AppError invalid naming the field, or if the organization has as many sites as it may have. */
export async function createSite(ctx: Context, scope: OrgScope, body: Document): Promise<Site> {
  const at = ctx.clock.now()
  const content = mergeSite(null, body)
  return inTx(ctx, async (tx) => {
    await lockAdditions(tx, scope)
    assertRoomForSite(await countSites(tx, scope), ctx.limits.sitesPerOrg)
    const site = await insertSite(tx, scope, { id: uuidv7(), ...content, at })
    await appendAudit(tx, scope, {
      message: `Add Site "${site.name}"`,
      siteId: site.id,
      siteName: site.name,
      after: auditDocument(site),
      at,
    })
    return site
  })
}

/** Returns the site in the form that the audit log shows. */
export function auditDocument(site: SiteDocument): Record<string, unknown> {
  return { ...omitSecrets(site.doc), name: site.name, timezone: site.timezone }
}
