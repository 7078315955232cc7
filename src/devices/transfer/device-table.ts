import { type CsvRow, encodeCsvRow, neutralize, parseNeutralized } from '../../http/bodies/csv.ts'
import { invalidField } from '../../platform/errors.ts'
import type { DeviceType } from '../device.ts'

/** The part of a device that a table shows. */
export interface TableDevice {
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: DeviceType
  readonly name: string | null
  readonly doc: Readonly<Record<string, unknown>>
}

/** Facts, which a returned table may contain unchanged. */
const facts = ['serial', 'model', 'type'] as const
const numbers = ['x', 'y', 'height', 'orientation'] as const
const texts = ['map_id', 'role', 'notes'] as const
/** Columns of a device's document. */
export const documentColumns = ['map_id', ...numbers, 'role', 'notes'] as const
const columns: readonly string[] = ['mac', ...facts, 'name', ...documentColumns]

/**
 * Encodes a CSV with a header line and a row for each device; a missing value is an empty cell. The name of a device
 * can't act as a formula in somebody's spreadsheet.
 */
export function encodeTable(devices: readonly TableDevice[]): string {
  return [columns, ...devices.map(rowOf)].map(encodeCsvRow).join('')
}

function rowOf({ mac, serial, model, type, name, doc }: TableDevice): string[] {
  const words = [mac, serial, model, type, name ?? ''].map(neutralize)
  return [...words, ...documentColumns.map((column) => cellOf(doc[column]))]
}

function cellOf(value: unknown): string {
  if (typeof value === 'string') return neutralize(value)
  return typeof value === 'number' ? String(value) : ''
}

/** A row in the form of a device's document. */
export interface TableItem {
  readonly line: number
  /** As written in the table; empty if there is none. */
  readonly mac: string
  /** In wire shape and unchecked: a malformed number stays a text. */
  readonly item: Readonly<Record<string, unknown>>
}

/**
 * Parses the rows of a table. An empty cell changes nothing.
 * @throws AppError invalid for unknown columns.
 */
export function parseTable(rows: readonly CsvRow[]): TableItem[] {
  return rows.map(({ line, cells }) => {
    const unknown = [...cells.keys()].find((name) => !columns.includes(name))
    if (unknown !== undefined)
      throw invalidField('file', `the column ${unknown.slice(0, 100)} is unknown; JSON accepts every field`)
    const given = (names: readonly string[]) => names.flatMap((name) => pairOf(name, cells.get(name)))
    const words = given(['mac', ...facts, 'name', ...texts])
    const values = given(numbers).map(([name, cell]) => [name, numberOf(cell)] as const)
    return {
      line,
      mac: cells.get('mac') ?? '',
      item: Object.fromEntries([...words.map(([name, cell]) => [name, parseNeutralized(cell)] as const), ...values]),
    }
  })
}

function pairOf(name: string, cell: string | undefined): (readonly [string, string])[] {
  return cell === undefined ? [] : [[name, cell]]
}

function numberOf(cell: string): number | string {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell) && Number.isFinite(Number(cell)) ? Number(cell) : cell
}
