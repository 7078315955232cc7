export interface Difference {
  readonly field: string
  /** Null if there was, or is, no value. */
  readonly before: string | null
  readonly after: string | null
}

type Fields = Readonly<Record<string, unknown>>

/** Returns the fields that a change has changed, by name; a change that creates or deletes has only one side. */
export function findDifferences(before: Fields = {}, after: Fields = {}): readonly Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  return names.flatMap((field) => {
    const [was, is] = [textOf(before, field), textOf(after, field)]
    return was === is ? [] : [{ field, before: was, after: is }]
  })
}

function textOf(fields: Fields, field: string): string | null {
  if (!Object.hasOwn(fields, field)) return null
  const value = fields[field]
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
