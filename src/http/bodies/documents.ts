import { isDeepStrictEqual } from 'node:util'
import { AppError, invalidField } from '../../platform/errors.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { isSealed } from '../../platform/sealing/secret-names.ts'

/** The maximum size of a document as JSON, unless its kind needs more. */
const MAX_DOCUMENT_BYTES = 128 * 1024
/** The maximum number of keys of one object in a document. */
const MAX_KEYS = 1000
/** The maximum number of its secrets and addresses. Each is encrypted by itself, which takes some microseconds. */
const MAX_SEALED = 1000
/** The maximum before that limit existed: larger documents stay editable up to here. */
const FORMER_MAX_BYTES = 1024 * 1024

/**
 * Merges a body as the interface's clients write it: an update replaces the top-level fields that it names and leaves
 * the others; `"-field": ""` unsets a field, on creation as on update.
 * @param maxBytes Of the document as JSON.
 * @returns A new document; the arguments are unchanged.
 * @throws AppError too_large; invalid for an object with too many keys or too many secrets, unless the document already has
 *   as many.
 */
export function mergeDocument(
  before: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>>,
  maxBytes: number = MAX_DOCUMENT_BYTES,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...before }
  for (const [key, value] of Object.entries(change)) {
    if (key.startsWith('-') && value === '') delete merged[key.slice(1)]
    else merged[key] = value
  }
  assertSize(bytesOf(merged), before, maxBytes)
  const { keys, sealed } = contentsOf(merged)
  if (keys > MAX_KEYS && keys > contentsOf(before).keys)
    throw new AppError('invalid', `An object of a document may have at most ${MAX_KEYS} keys; one of these has ${keys}`)
  if (sealed > MAX_SEALED && sealed > contentsOf(before).sealed)
    throw new AppError('invalid', `A document may have at most ${MAX_SEALED} secrets and addresses; this has ${sealed}`)
  return merged
}

/**
 * Asserts that a body does not change fields that its operation can't change. Clients send whole records back, so the
 * present values pass; another one would be dropped silently.
 * @param present As answers show the record. Null represents a field that it does not have.
 * @param why The end of a sentence that starts with the field.
 * @throws AppError invalid, which names the field.
 */
export function assertUnchanged(
  present: Readonly<Record<string, unknown>>,
  body: Readonly<Record<string, unknown>>,
  { fields, why }: { readonly fields: readonly string[]; readonly why: string },
): void {
  for (const field of fields) {
    const [wanted, known] = [body[field] ?? null, present[field] ?? null]
    if (field in body && !isDeepStrictEqual(wanted, known)) throw invalidField(field, why)
  }
}

/** Does the same as assertUnchanged(), and refuses to unset these fields by `"-field": ""` if the record has a value. */
export function assertKept(
  present: Readonly<Record<string, unknown>>,
  body: Readonly<Record<string, unknown>>,
  rule: { readonly fields: readonly string[]; readonly why: string },
): void {
  assertUnchanged(present, body, rule)
  for (const field of rule.fields) {
    const value = present[field] ?? ''
    const isEmpty = value === '' || value === false || (Array.isArray(value) && value.length === 0)
    if (`-${field}` in body && !isEmpty) throw invalidField(`-${field}`, rule.why)
  }
}

/** Measures the former document only if necessary: large ones take milliseconds. */
function assertSize(bytes: number, before: Readonly<Record<string, unknown>>, maxBytes: number): void {
  if (bytes <= maxBytes) return
  const bytesBefore = bytesOf(before)
  const limit = bytesBefore > maxBytes ? Math.max(maxBytes, FORMER_MAX_BYTES) : maxBytes
  if (bytes > limit && bytes > bytesBefore)
    throw new AppError('too_large', `All fields together may have at most ${limit} bytes of JSON; these have ${bytes}`)
}

function bytesOf(document: Readonly<Record<string, unknown>>): number {
  return Buffer.byteLength(JSON.stringify(document))
}

/**
 * Returns the document without `names`: fields that the service sets itself (ids, times) are never taken from a client.
 */
export function omitFields(
  document: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !names.includes(key)))
}

interface Contents {
  /** The number of keys of the largest object, at any depth. */
  keys: number
  /** The number of secrets and addresses. */
  sealed: number
}

function contentsOf(document: Readonly<Record<string, unknown>>): Contents {
  const contents = { keys: 0, sealed: 0 }
  countIn(document, contents)
  return contents
}

/** @param isWithin True in a value that is encrypted as a whole: it has no further secrets. */
function countIn(value: unknown, contents: Contents, isWithin = false): void {
  if (Array.isArray(value)) for (const item of value) countIn(item, contents, isWithin)
  if (!isObject(value)) return
  let keys = 0
  for (const name in value) {
    const member = value[name]
    keys += 1
    const isEncrypted = !isWithin && isSealed(name, member)
    if (isEncrypted) contents.sealed += 1
    if (typeof member === 'object') countIn(member, contents, isWithin || isEncrypted)
  }
  contents.keys = Math.max(contents.keys, keys)
}
