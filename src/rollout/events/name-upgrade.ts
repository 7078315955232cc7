/** Returns the name that the request of an upgrade gives it; null: none. */
export function findName({ name }: Readonly<Record<string, unknown>>): string | null {
  return typeof name === 'string' ? name : null
}

/** Adds the name of an upgrade to a text: before its id, or at the end of a text that does not have the id. Null: it has no name. */
export function nameUpgrade(text: string, id: string, name: string | null): string {
  if (name === null) return text
  return text.includes(id) ? text.replace(id, () => `"${name}" (${id})`) : `${text} ("${name}")`
}
