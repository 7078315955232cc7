/** The delivery whose request had the headers. */
interface Recorded {
  readonly messageId: string
  readonly createdAt: Date
}

/**
 * Returns the headers that nearly every request has. Records omit them, as they would be a third of it. A request may have
 * others by now, but records of all releases depend on these: never change them.
 */
function usualHeaders({ messageId, createdAt }: Recorded): Readonly<Record<string, string>> {
  return {
    'User-Agent': 'Signalbox-Webhooks/1',
    'Content-Type': 'application/json',
    'Accept-Encoding': 'identity',
    'webhook-id': messageId,
    'webhook-timestamp': String(Math.floor(createdAt.getTime() / 1000)),
  }
}

/** Returns the headers that differ from the usual ones; null for a usual one that is missing. */
export function reduceHeaders(
  headers: Readonly<Record<string, string>>,
  recorded: Recorded,
): Record<string, string | null> {
  const usual = usualHeaders(recorded)
  const others = Object.entries(headers).filter(([name, value]) => usual[name] !== value)
  const missing = Object.keys(usual).filter((name) => !(name in headers))
  return Object.fromEntries([...others, ...missing.map((name) => [name, null] as const)])
}

/** Reverses reduceHeaders(). */
export function restoreHeaders(
  reduced: Readonly<Record<string, string | null>>,
  recorded: Recorded,
): Record<string, string> {
  const all = Object.entries({ ...usualHeaders(recorded), ...reduced })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null))
}
