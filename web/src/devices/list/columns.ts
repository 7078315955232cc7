/** What the list shows of a device besides its name, in the order of the columns. */
export const columns = [
  { key: 'state', label: 'State', width: '150px' },
  { key: 'type', label: 'Type', width: '110px' },
  { key: 'model', label: 'Model', width: 'minmax(90px, 1fr)' },
  { key: 'version', label: 'Version', width: 'minmax(80px, 1fr)' },
  { key: 'site', label: 'Site', width: 'minmax(100px, 1.1fr)' },
  { key: 'mac', label: 'MAC', width: '150px' },
  { key: 'serial', label: 'Serial', width: 'minmax(120px, 1fr)' },
] as const

export type Column = (typeof columns)[number]
export type ColumnKey = Column['key']

const usual: ReadonlySet<ColumnKey> = new Set(['state', 'model', 'version', 'site', 'mac'])

/** Returns the columns that an address asks for: names, separated by commas; the usual ones where it asks for none. */
export function columnsIn(text: string | undefined): readonly Column[] {
  const asked = new Set<string>((text ?? '').split(','))
  const found = columns.filter(({ key }) => asked.has(key))
  return found.length > 0 ? found : columns.filter(({ key }) => usual.has(key))
}

/** Returns these columns as an address has them; undefined for the usual ones, which need no mention. */
export function columnText(keys: ReadonlySet<ColumnKey>): string | undefined {
  const isUsual = columns.every(({ key }) => keys.has(key) === usual.has(key))
  const chosen = columns.flatMap(({ key }) => (keys.has(key) ? [key] : []))
  return isUsual ? undefined : chosen.join(',')
}
