import { Readable } from 'node:stream'
import { encodeCsvRow, neutralize } from '../../http/bodies/csv.ts'

/** Rows of one piece of the answer. */
const ROWS_PER_PIECE = 200

/** Encodes an object as JSON, piece by piece. Its last member is the array of the rows. */
export function encodeJson(
  head: Readonly<Record<string, unknown>>,
  { name, rows }: { readonly name: string; readonly rows: AsyncIterable<object> },
): Readable {
  async function* pieces(): AsyncGenerator<string> {
    yield `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(name)}:[`
    let separator = ''
    for await (const piece of piecesOf(rows, JSON.stringify)) {
      yield separator + piece.join(',')
      separator = ','
    }
    yield ']}'
  }
  return Readable.from(pieces(), { objectMode: false })
}

export type Cell = string | number | boolean

/** Encodes rows as CSV with a header line, piece by piece. A text that a spreadsheet would take for a formula is neutralized. */
export function encodeCsv<C extends string>(
  columns: readonly C[],
  rows: AsyncIterable<Readonly<Partial<Record<C, Cell>>>>,
): Readable {
  async function* pieces(): AsyncGenerator<string> {
    yield encodeCsvRow(columns)
    const encode = (row: Readonly<Partial<Record<C, Cell>>>): string =>
      encodeCsvRow(columns.map((column) => cellOf(row[column])))
    for await (const piece of piecesOf(rows, encode)) yield piece.join('')
  }
  return Readable.from(pieces(), { objectMode: false })
}

function cellOf(value: Cell | undefined): string {
  return typeof value === 'string' ? neutralize(value) : String(value ?? '')
}

async function* piecesOf<T>(rows: AsyncIterable<T>, encode: (row: T) => string): AsyncGenerator<string[]> {
  let piece: string[] = []
  for await (const row of rows) {
    piece.push(encode(row))
    if (piece.length < ROWS_PER_PIECE) continue
    yield piece
    piece = []
  }
  if (piece.length > 0) yield piece
}
