/** Adds the name of an upgrade to a text: before its id, or at the end of a text that does not have the id. Null: it has no name. */
export function nameUpgrade(text: string, id: string, name: string | null): string {
  if (name === null) return text
  return text.includes(id) ? text.replace(id, () => `"${name}" (${id})`) : `${text} ("${name}")`
}
