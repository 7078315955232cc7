import type { Document } from '../platform/json/document.ts'
import { isSameJson } from '../platform/json/same-json.ts'

/** A change: the documents before and after it; only one of them for a creation or a deletion. */
export interface Change {
  readonly before?: Document
  readonly after?: Document
}

/** Fields that identify the object of a record, stored even if unchanged. */
const IDENTITY: ReadonlySet<string> = new Set([
  'id',
  'mac',
  'serial',
  'name',
  'email',
  'webhook_id',
  'mxedge_id',
  'map_id',
])

/** The values that are stored whole take at most this much of a document, as JSON with their names. */
const WHOLE_BYTES = 16 * 1024
/** The length of the beginning of a longer value that is stored, and the number of such values. */
const START_CHARACTERS = 100
const MAX_SHORTENED = 50
/** No meaningful field has a longer name. */
const MAX_NAME_CHARACTERS = 200

/**
 * Reduces a change to the top-level fields that differ, so that a record does not repeat a document of a hundred
 * kilobytes for each edit. At most 16 KiB of values are stored unchanged, the shortest first; others become a text of
 * their start and length, and beyond fifty, a number.
 */
export function reduceChange({ before, after }: Change): Change {
  const differs = (name: string): boolean =>
    before === undefined || after === undefined || IDENTITY.has(name) || !isSameJson(before[name], after[name])
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
    // A value without JSON (undefined) is not stored anyway.
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
  // The cut may split a character, which the database would refuse.
  return `${text.slice(0, START_CHARACTERS).toWellFormed()}... (${text.length} ${unit})`
}
