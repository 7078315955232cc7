import type { ManifestConflict, ManifestRow } from '../../devices/registry/plan-import.ts'
import { type CsvRow, parseCsv } from '../../http/bodies/csv.ts'
import type { HardwareRow } from './import-hardware.ts'

/** A conflict with the line of the file, as editors count. */
export type CsvConflict = ManifestConflict & { readonly line: number }

export interface ParsedManifest {
  /** In the manifest's order, each with its position among all rows, from 0. */
  readonly rows: readonly { readonly row: number; readonly line: number; readonly given: HardwareRow }[]
  /** Rows that can't be given to importHardware(). */
  readonly conflicts: readonly CsvConflict[]
}

/** About 8 MiB of typical rows. */
const MAX_ROWS = 100_000
const MAX_CELL = 100
const required = ['mac', 'serial', 'model', 'claim_code'] as const
const types = ['ap', 'switch', 'gateway', 'mxedge'] as const

/**
 * Parses a CSV with the columns mac, serial, model, claim_code and, where needed, type.
 * @throws AppError invalid naming the line and the column, where the file as a whole is not a manifest.
 */
export function parseManifest(csv: Uint8Array): ParsedManifest {
  const rows: ParsedManifest['rows'][number][] = []
  const conflicts: CsvConflict[] = []
  const parsed = parseCsv(csv, { field: 'manifest', required, maxRows: MAX_ROWS })
  for (const [row, { line, cells }] of parsed.entries()) {
    const wrong = wrongCell(cells)
    const type = types.find((name) => name === typeOf(cells))
    const [mac = '', serial = '', model = '', claimCode = ''] = required.map((column) => cells.get(column))
    const given = { mac, serial, model, claim_code: claimCode, ...(type !== undefined && { type }) }
    if (wrong === null) rows.push({ row, line, given })
    else conflicts.push({ row, line, mac: mac.slice(0, MAX_CELL), ...wrong })
  }
  return { rows, conflicts }
}

function typeOf(cells: CsvRow['cells']): string | undefined {
  return cells.get('type')?.toLowerCase()
}

function wrongCell(cells: CsvRow['cells']): { readonly column: keyof ManifestRow; readonly reason: string } | null {
  for (const column of required) {
    const cell = cells.get(column)
    if (cell === undefined) return { column, reason: `${column} is required` }
    if (cell.length > MAX_CELL) return { column, reason: `${column} has more than ${MAX_CELL} characters` }
  }
  const type = typeOf(cells)
  if (type === undefined || types.some((name) => name === type)) return null
  return { column: 'type', reason: `type must be one of ${types.join(', ')}` }
}
