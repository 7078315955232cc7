import { parse } from 'csv-parse/sync'
import { invalidField } from '../platform/errors.ts'
import { assertText } from './body.ts'

/** A row of a table, by the names of its columns in lower case. Empty cells are not there. */
export interface CsvRow {
  /** On which the row ends, as editors count; the first is 1. */
  readonly line: number
  readonly cells: ReadonlyMap<string, string>
}

export interface CsvOptions {
  /** What the request calls the table. */
  readonly field: string
  /** Columns that have to be there; others may. */
  readonly required: readonly string[]
  readonly maxRows: number
}

const MAX_COLUMNS = 100
const MAX_ROW_CHARACTERS = 64 * 1024

/**
 * A table as RFC 4180 has it, in UTF-8, with a line of headings; columns in any order.
 * @throws AppError invalid naming the field, and in `reason` the line and the column.
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
      // With `info` it answers other records than its types say.
    }) as unknown as CsvRecord[]
  } catch (error) {
    throw invalidField(field, error instanceof Error ? error.message : 'is no CSV')
  }
}

function decode(field: string, bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    assertText(text)
    return text
  } catch {
    throw invalidField(field, 'is no text in UTF-8')
  }
}
