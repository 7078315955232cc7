/** The encodings in which files of the console are stored, the smallest first. */
export const encodings = ['br', 'gzip'] as const
export type Encoding = (typeof encodings)[number]

/** Returns the best of the `stored` encodings that an `Accept-Encoding` header allows; null for none (RFC 9110, 12.5.3). */
export function chooseEncoding(accepted: string | undefined, stored: ReadonlySet<Encoding>): Encoding | null {
  const weights = new Map<string, number>()
  for (const part of (accepted ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return encodings.find((name) => stored.has(name) && (weights.get(name) ?? weights.get('*') ?? 0) > 0) ?? null
}
