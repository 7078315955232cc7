import type { SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import { inCreationTx } from '../creation/in-creation-tx.ts'
import { refuseBusy } from '../creation/refuse-busy.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'

/**
 * Creates an upgrade of one site; see createUpgrade().
 * @returns The id of the site upgrade.
 * @throws AppError invalid, also if other upgrades have the devices that it names.
 */
export async function createSiteUpgrade(ctx: Context, scope: SiteScope, request: UpgradeRequest): Promise<string> {
  return inCreationTx(ctx, scope, async (_tx, create) => {
    const created = await create(request)
    if (request.selection.ids !== null) refuseBusy(created, { unit: 'device' })
    const [siteUpgrade] = created.sites
    if (siteUpgrade === undefined) throw notFound(scope.siteId)
    return siteUpgrade.id
  })
}
