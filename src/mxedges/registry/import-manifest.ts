import type { ImportReport } from '../../devices/registry/import-manifest.ts'
import { type ManifestRow, checkManifest, planImport } from '../../devices/registry/plan-import.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { lockRegistryOf, upsertManifest } from './store.ts'

/** Does for edge appliances what importManifest() does for devices; they have their own registry. */
export async function importMxedgeManifest(
  ctx: Context,
  rows: readonly ManifestRow<'mxedge'>[],
): Promise<ImportReport> {
  const { devices: mxedges, conflicts } = checkManifest(rows, () => 'mxedge' as const)
  const codes = mxedges.map(({ claimCode }) => claimCode)
  return inTx(ctx, async (tx) => {
    const known = await lockRegistryOf(tx, mxedges, codes)
    const plan = planImport(
      mxedges,
      known.map((mxedge) => Object.assign(mxedge, { type: 'mxedge' as const })),
    )
    await upsertManifest(tx, plan.save, ctx.clock.now())
    return {
      imported: plan.save.length,
      unchanged: plan.unchanged.length,
      conflicts: [...conflicts, ...plan.conflicts].sort((a, b) => a.row - b.row),
    }
  })
}
