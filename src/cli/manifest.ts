import { AppError } from '../platform/errors.ts'

const columns = ['mac', 'serial', 'model', 'claim_code', 'type'] as const
type Column = (typeof columns)[number]
const required: readonly Column[] = ['mac', 'serial', 'model', 'claim_code']

export type ManifestRow = Partial<Record<Column, string>>

/**
 * Rows of a CSV with a header line; columns in any order, other columns are left out. Values of these
 * columns never hold a comma, so a quote is only ever decoration.
 * @throws AppError invalid naming the line.
 */
export function parseManifest(text: string): ManifestRow[] {
  const [header = '', ...lines] = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const names = cells(header).map((name) => name.toLowerCase())
  const missing = required.filter((column) => !names.includes(column))
  if (missing.length > 0) throw new AppError('invalid', `manifest: line 1 lacks the column ${missing.join(', ')}`)
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return []
    const values = cells(line)
    if (values.length !== names.length)
      throw new AppError('invalid', `manifest: line ${index + 2} has ${values.length} columns, not ${names.length}`)
    const row: ManifestRow = {}
    for (const column of columns) {
      const value = values[names.indexOf(column)]
      if (value !== undefined && value !== '') row[column] = value
    }
    return [row]
  })
}

function cells(line: string): string[] {
  return line.split(',').map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  )
}
