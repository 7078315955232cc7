import { isDeepStrictEqual } from 'node:util'

type Document = Readonly<Record<string, unknown>>

/** What a record says of a change: documents as they were and as they are, one of them where there was no other. */
export interface Change {
  readonly before?: Document
  readonly after?: Document
}

/** What says whom or what a record is about, kept although it stayed the same. */
const IDENTITY: ReadonlySet<string> = new Set(['id', 'mac', 'serial', 'name', 'email'])

/** What the values that are kept whole may take of a document, as JSON with their names. */
const WHOLE_BYTES = 16 * 1024
/** How much of a longer value is kept, and of how many of them. */
const START_CHARACTERS = 100
const MAX_SHORTENED = 50
/** Nobody names a field like this to tell something by it. */
const MAX_NAME_CHARACTERS = 200

/**
 * Reduces a change to the top-level fields that differ, so that a record does not repeat a document of a
 * hundred kilobytes for each edit. Of a document at most 16 KiB of values are kept as they are, the
 * shortest first; the others become the text of their beginning and length, and beyond fifty a number.
 */
export function reduceChange({ before, after }: Change): Change {
  const differs = (name: string): boolean =>
    before === undefined || after === undefined || IDENTITY.has(name) || !isDeepStrictEqual(before[name], after[name])
  return {
    ...(before && { before: shorten(before, differs) }),
    ...(after && { after: shorten(after, differs) }),
  }
}

interface Field {
  readonly name: string
  readonly value: unknown
  readonly json: string
  readonly bytes: number
}

function shorten(document: Document, isKept: (name: string) => boolean): Document {
  const fields = Object.entries(document).flatMap(([name, value]): Field[] => {
    // What has no JSON (undefined) is not written anyway.
    const json = isKept(name) ? JSON.stringify(value) : undefined
    return json === undefined ? [] : [{ name, value, json, bytes: Buffer.byteLength(name) + Buffer.byteLength(json) }]
  })
  const whole = new Set<Field>()
  let bytes = 0
  for (const field of fields.toSorted((a, b) => a.bytes - b.bytes)) {
    bytes += field.bytes
    if (bytes > WHOLE_BYTES) break
    whole.add(field)
  }
  const long = fields.filter((field) => !whole.has(field))
  const shortened = new Set(long.filter(({ name }) => name.length <= MAX_NAME_CHARACTERS).slice(0, MAX_SHORTENED))
  const omitted = long.length - shortened.size
  return {
    ...Object.fromEntries(
      fields.flatMap((field) => {
        if (whole.has(field)) return [[field.name, field.value]]
        return shortened.has(field) ? [[field.name, startOf(field)]] : []
      }),
    ),
    ...(omitted > 0 && { '...': `${omitted} more fields` }),
  }
}

function startOf({ value, json }: Field): string {
  const [text, unit] = typeof value === 'string' ? [value, 'characters'] : [json, 'characters of JSON']
  // A character may be cut in two, which the database would refuse.
  return `${text.slice(0, START_CHARACTERS).toWellFormed()}... (${text.length} ${unit})`
}
