const periods = ['1d', '7d', '30d'] as const

/** The filter of the audit log, as in the address of the page. */
export interface LogSearch {
  readonly message?: string
  readonly admin?: string
  readonly period?: (typeof periods)[number]
}

/** Keeps the known parameters; an address that was typed by hand may contain anything. */
export function parseLogSearch(search: Readonly<Record<string, unknown>>): LogSearch {
  const texts = (['message', 'admin'] as const).flatMap((name) => {
    const value = search[name]
    // The router reads a text of digits as a number.
    const text = typeof value === 'number' ? String(value) : value
    return typeof text === 'string' && text !== '' ? [[name, text] as const] : []
  })
  const period = periods.find((name) => name === search['period'])
  return { ...Object.fromEntries(texts), ...(period !== undefined && { period }) }
}
