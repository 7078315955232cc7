/** Returns the single item; undefined if there are none or several. */
export function onlyOf<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined
}

/** Names devices in audit messages: a single one by its MAC, several by their number. */
export function describeMacs(macs: readonly string[]): string {
  return macs.length === 1 ? `device ${macs[0]}` : `${macs.length} devices`
}
