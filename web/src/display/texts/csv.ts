/** A spreadsheet would interpret a text that begins like this as a formula. */
const FORMULA = /^[=+\-@\t\r]/

/** Returns rows as CSV with a line of names, as in RFC 4180. */
export function csvOf(names: readonly string[], rows: readonly (readonly string[])[]): string {
  return [names, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
