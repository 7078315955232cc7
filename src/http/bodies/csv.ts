import { parse } from 'csv-parse/sync'
import { invalidField } from '../../platform/errors.ts'
import { assertText } from './body.ts'
import { messageOf } from '../../platform/message-of.ts'

/** A row of a table, by the names of its columns in lower case. Empty cells are missing. */
export interface CsvRow {
  /** The line on which the row ends, as editors count; the first is 1. */
  readonly line: number
  readonly cells: ReadonlyMap<string, string>
}

export interface CsvOptions {
  /** The request's name for the table. */
  readonly field: string
  /** Columns that must be present; others may be. */
  readonly required: readonly string[]
  readonly maxRows: number
}

const MAX_COLUMNS = 100
const MAX_ROW_CHARACTERS = 64 * 1024

/**
 * Parses a table as RFC 4180 defines it, in UTF-8, with a header line; columns may come in any order.
 * @throws AppError invalid naming the field, with line and column in `reason`.
 */
export function parseCsv(bytes: Uint8Array, { field, required, maxRows }: CsvOptions): CsvRow[] {
  const [header, ...rows] = recordsOf(field, decode(field, bytes), maxRows + 2)
  const names = (header?.record ?? []).map((name) => name.toLowerCase())
  if (names.length > MAX_COLUMNS) throw invalidField(field, `line 1 has more than ${MAX_COLUMNS} columns`)
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0) throw invalidField(field, `line 1 lacks the column ${missing.join(', ')}`)
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
  if (twice !== undefined) throw invalidField(field, `line 1 has the column ${twice.slice(0, 100)} twice`)
  if (rows.length > maxRows) throw invalidField(field, `has more than ${maxRows} rows`)
  return rows.map(({ record, info: { lines: line } }) => {
    if (record.length !== names.length)
      throw invalidField(field, `line ${line} has ${record.length} columns, not ${names.length}`)
    const cells = names.map((name, index) => [name, record[index] ?? ''] as const)
    return { line, cells: new Map(cells.filter(([name, cell]) => name !== '' && cell !== '')) }
  })
}

interface CsvRecord {
  readonly info: { readonly lines: number }
  readonly record: readonly string[]
}

function recordsOf(field: string, text: string, atMost: number): CsvRecord[] {
  try {
    return parse(text, {
      bom: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: MAX_ROW_CHARACTERS,
      to: atMost,
      info: true,
      // With `info` the parser returns other records than its types declare.
    }) as unknown as CsvRecord[]
  } catch (error) {
    throw invalidField(field, messageOf(error))
  }
}

function decode(field: string, bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    assertText(text, field)
    return text
  } catch {
    throw invalidField(field, 'is not UTF-8 text')
  }
}

/** Encodes a line of a table as RFC 4180 defines it. Quotes cells that readers would trim or split. */
export function encodeCsvRow(cells: readonly string[]): string {
  return `${cells.map(quote).join(',')}\r\n`
}

function quote(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** A text that a spreadsheet takes for a formula, perhaps already behind an apostrophe. */
const formula = /^'*[=+\-@\t\r\n]/

/** Returns a text that spreadsheets don't interpret as a formula; parseNeutralized() reverses it. */
export function neutralize(text: string): string {
  return formula.test(text) ? `'${text}` : text
}

export function parseNeutralized(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}
