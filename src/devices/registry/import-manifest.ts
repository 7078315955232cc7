import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { typeOfModel } from './models.ts'
import { type ManifestConflict, type ManifestRow, checkManifest, planImport } from './plan-import.ts'
import { lockRegistryOf, updateCodeOrigin, upsertManifest } from './store.ts'

export interface ImportReport {
  /** The number of new devices, and of unclaimed ones whose data changed. */
  readonly imported: number
  readonly unchanged: number
  /** Rows that were left out, in the manifest's order. */
  readonly conflicts: readonly ManifestConflict[]
}

/**
 * Registers the devices of a manifest, so that they can be claimed. A second import of the same manifest changes nothing; a
 * code that the service has generated counts as printed once a manifest has it too. Only the operator does this: devices
 * of a manifest belong to no organization yet.
 */
export async function importManifest(ctx: Context, rows: readonly ManifestRow[]): Promise<ImportReport> {
  const { devices, conflicts } = checkManifest(rows, typeOfModel)
  const codes = devices.map(({ claimCode }) => claimCode)
  return inTx(ctx, async (tx) => {
    const plan = planImport(devices, await lockRegistryOf(tx, devices, codes))
    await upsertManifest(tx, plan.save, ctx.clock.now())
    await updateCodeOrigin(tx, plan.unchanged)
    return {
      imported: plan.save.length,
      unchanged: plan.unchanged.length,
      conflicts: [...conflicts, ...plan.conflicts].sort((a, b) => a.row - b.row),
    }
  })
}
