import type { SiteScope } from '../access/scope.ts'
import { lockGrants } from '../accounts/grants/store.ts'
import { revokeGrants } from '../accounts/grants/revoke-grants.ts'
import { appendMxedgeEvents } from '../events/append-mxedge.ts'
import { appendAudit } from '../events/append.ts'
import { endPlace } from '../events/store-removal.ts'
import { unassignMxedges } from '../mxedges/store-removal.ts'
import { auditDocument } from '../orgs/sites/create-site.ts'
import { deleteSiteRow, removeInstallerSite } from '../orgs/store-removal.ts'
import { lockSite } from '../orgs/sites/store.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { lockWebhooks } from '../webhooks/store-removal.ts'
import { assertNothingInTheWay } from './refusal.ts'

/**
 * Deletes the site with its settings, webhooks and privileges, and with everything that other nouns store for it. Its
 * edge appliances stay unassigned.
 * @throws AppError conflict while devices are assigned to it or an upgrade runs in it.
 */
export async function deleteSite(ctx: Context, scope: SiteScope): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    // The organization is locked before its site, as everywhere.
    const grants = await lockGrants(tx, scope)
    const site = await lockSite(tx, scope)
    await assertNothingInTheWay(tx, scope)
    await lockWebhooks(tx, scope)
    const message = `Delete Site "${site.name}"`
    const lost = await revokeGrants(tx, scope, { place: { siteId: site.id }, message, at, grants })
    await removeInstallerSite(tx, scope, site.id)
    const mxedges = await unassignMxedges(tx, scope, at)
    await deleteSiteRow(tx, scope)
    await endPlace(tx, scope, at)
    const before = { ...auditDocument(site), ...lost, ...(mxedges.length > 0 && { mxedges: mxedges.map(nameOf) }) }
    const auditId = await appendAudit(tx, scope, { message, siteId: site.id, siteName: site.name, before, at })
    const text = `Unassigned: site ${site.name} was deleted`
    await appendMxedgeEvents(
      tx,
      scope,
      mxedges.map((mxedge) => ({ mxedge, type: 'ME_CONFIG_CHANGED_BY_USER' as const, auditId, text })),
      at,
    )
  })
}

const nameOf = ({ name }: { readonly name: string }) => name
