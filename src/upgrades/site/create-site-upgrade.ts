import type { SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { notFound } from '../../platform/errors.ts'
import { awaitStops } from '../await-stops.ts'
import { createUpgrade } from '../create-upgrade.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'

/**
 * Creates an upgrade of one site; see createUpgrade().
 * @returns The id of the site upgrade.
 * @throws AppError invalid
 */
export async function createSiteUpgrade(ctx: Context, scope: SiteScope, request: UpgradeRequest): Promise<string> {
  await awaitStops(ctx, scope)
  return inTx(ctx, async (tx) => {
    const { sites } = await createUpgrade(ctx, tx, scope, request)
    const [siteUpgrade] = sites
    if (siteUpgrade === undefined) throw notFound(scope.siteId)
    return siteUpgrade.id
  })
}
