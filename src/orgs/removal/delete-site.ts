import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { auditDocument } from '../create-site.ts'
import { lockSite } from '../store-sites.ts'
import { assertNothingInTheWay } from './refusal.ts'
import { countInTheWay, deleteSiteRow, forgetInstallerSite, lockWebhooks } from './store.ts'
import { holdGrants } from './store-grants.ts'
import { takeGrants } from './take-grants.ts'

/**
 * With its settings, webhooks and privileges, and with all that other nouns keep of it.
 *
 * @throws AppError conflict while devices are assigned to it or an upgrade runs in it.
 */
export async function deleteSite(ctx: Context, scope: SiteScope): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    // The organization before its site, as everybody does who needs both.
    const grants = await holdGrants(tx, scope)
    const site = await lockSite(tx, scope)
    assertNothingInTheWay('site', await countInTheWay(tx, scope))
    await lockWebhooks(tx, scope)
    const message = `Delete Site "${site.name}"`
    const lost = await takeGrants(tx, scope, { place: { siteId: site.id }, message, at, grants })
    await forgetInstallerSite(tx, scope, site.id)
    await deleteSiteRow(tx, scope)
    await appendAudit(tx, scope, { message, siteId: site.id, before: { ...auditDocument(site), ...lost }, at })
  })
}
