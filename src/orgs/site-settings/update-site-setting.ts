import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Document } from '../../platform/json/document.ts'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { omitSecrets } from '../secrets/secrets.ts'
import { mergeSetting } from '../org-settings/setting.ts'
import type { SiteSetting } from '../org-settings/store.ts'
import { lockSiteAlone } from '../sites/store.ts'
import { findSiteSetting, upsertSiteSetting } from './store.ts'

/** Replaces the top-level fields that `body` names; see mergeDocument(). */
export async function updateSiteSetting(ctx: Context, scope: SiteScope, body: Document): Promise<SiteSetting> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    // The settings have no row at first, so the site's row is locked in its place.
    const site = await lockSiteAlone(tx, scope)
    const before = (await findSiteSetting(tx, scope))?.doc ?? {}
    const doc = mergeSetting(before, body)
    // As in updateSetting().
    await nextTurn()
    const setting = await upsertSiteSetting(tx, scope, { doc, at })
    const shown = { before: omitSecrets(before), after: omitSecrets(doc) }
    await nextTurn()
    const message = `Update Site Settings "${site.name}"`
    await appendAudit(tx, scope, { message, siteId: site.id, siteName: site.name, ...shown, at })
    return setting
  })
}
