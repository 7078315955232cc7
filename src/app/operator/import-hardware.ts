import { type ImportReport, importManifest } from '../../devices/registry/import-manifest.ts'
import type { ManifestConflict, ManifestRow } from '../../devices/registry/plan-import.ts'
import type { DeviceType } from '../../devices/device.ts'
import { isMxedgeModel } from '../../mxedges/models.ts'
import { importMxedgeManifest } from '../../mxedges/registry/import-manifest.ts'
import type { Context } from '../../platform/context.ts'

export type HardwareRow = ManifestRow<DeviceType | 'mxedge'>

interface Placed<T extends string> {
  readonly row: number
  readonly given: ManifestRow<T>
}

/**
 * Imports a manifest of devices and edge appliances: each kind in one transaction, into its registry. A repeated import
 * leaves the rows of an interrupted one unchanged.
 */
export async function importHardware(ctx: Context, rows: readonly HardwareRow[]): Promise<ImportReport> {
  const devices: Placed<DeviceType>[] = []
  const mxedges: Placed<'mxedge'>[] = []
  for (const [row, { type, ...given }] of rows.entries()) {
    if (type === 'mxedge' || (type === undefined && isMxedgeModel(given.model))) mxedges.push({ row, given })
    else devices.push({ row, given: type === undefined ? given : { ...given, type } })
  }
  const ofDevices = await importManifest(
    ctx,
    devices.map(({ given }) => given),
  )
  const ofMxedges = await importMxedgeManifest(
    ctx,
    mxedges.map(({ given }) => given),
  )
  return {
    imported: ofDevices.imported + ofMxedges.imported,
    unchanged: ofDevices.unchanged + ofMxedges.unchanged,
    conflicts: [...inWhole(ofDevices.conflicts, devices), ...inWhole(ofMxedges.conflicts, mxedges)].sort(
      (a, b) => a.row - b.row,
    ),
  }
}

/** Returns the rows with their positions in the whole manifest. */
function inWhole(
  conflicts: readonly ManifestConflict[],
  part: readonly { readonly row: number }[],
): ManifestConflict[] {
  return conflicts.map((conflict) => ({ ...conflict, row: part[conflict.row]?.row ?? conflict.row }))
}
