import { deflateSync, inflateSync } from 'node:zlib'

/** A frame as uCentral has it: JSON-RPC 2.0, where devices send calls without an id and answer ours by id. */
export type Frame =
  | { readonly kind: 'call'; readonly id: number | null; readonly method: string; readonly params: Params }
  | { readonly kind: 'reply'; readonly id: number; readonly result: unknown; readonly error: unknown }
  /** A packet of an access point's RADIUS proxy, which is no JSON-RPC. We offer no such proxy. */
  | { readonly kind: 'radius' }
  | { readonly kind: 'malformed'; readonly why: string }

export type Params = Readonly<Record<string, unknown>>

/** A call whose params are compressed (`compress_64`). */
export interface PackedCall {
  readonly kind: 'packed'
  readonly id: number | null
  readonly method: string
  /** What the sender compressed, in base64. */
  readonly packed: unknown
  /** Its own figure of the inflated size. */
  readonly size: unknown
}

/** Inflated size of compressed params, that of the largest plain ones: a few KB of zlib can hold gigabytes. */
export const MAX_INFLATED_BYTES = 512 * 1024

/**
 * Values in one text, with escapes. Parsing takes up to 1 µs for each, a hundred times what a byte takes. The state of an
 * access point with 300 clients has some 15,000, that of a switch with 54 ports 3,000.
 */
export const MAX_VALUES = 20_000

/** Never throws: what can't be understood is a value, because peers send it. */
export function decodeFrame(text: string): Frame {
  const frame = decodeEnvelope(text)
  return frame.kind === 'packed' ? inflateCall(frame).frame : frame
}

/** As decodeFrame, but does not look into compressed params. */
export function decodeEnvelope(text: string): Frame | PackedCall {
  const frame = parseObject(text)
  if (typeof frame === 'string') return { kind: 'malformed', why: frame }
  if (typeof frame['method'] === 'string') return decodeCall(frame, frame['method'])
  const id = frame['id']
  if (isId(id) && ('result' in frame || 'error' in frame)) {
    return { kind: 'reply', id, result: frame['result'], error: frame['error'] }
  }
  if (typeof frame['radius'] === 'string') return { kind: 'radius' }
  return { kind: 'malformed', why: 'neither call nor reply' }
}

function decodeCall(frame: Params, method: string): Frame | PackedCall {
  const id = frame['id'] ?? null
  if (id !== null && !isId(id)) return { kind: 'malformed', why: 'id is no integer' }
  const params = frame['params'] ?? {}
  if (!isObject(params)) return { kind: 'malformed', why: 'params is no object' }
  if (!('compress_64' in params)) return { kind: 'call', id, method, params }
  return { kind: 'packed', id, method, packed: params['compress_64'], size: params['compress_sz'] }
}

/** `inflatedBytes` is what had to be inflated, whatever came of it. Never throws. */
export function inflateCall({ id, method, packed, size }: PackedCall): { frame: Frame; inflatedBytes: number } {
  const refuse = (why: string, inflatedBytes = 0): { frame: Frame; inflatedBytes: number } => ({
    frame: { kind: 'malformed', why: `compressed params: ${why}` },
    inflatedBytes,
  })
  // The sender's own figure only serves to refuse early: the real size is bounded in any case.
  if (typeof size === 'number' && size > MAX_INFLATED_BYTES) return refuse('too large')
  if (typeof packed !== 'string') return refuse('not readable')
  try {
    const inflated = inflateSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_INFLATED_BYTES })
    const params = parseObject(inflated.toString('utf8'))
    if (typeof params === 'string') return refuse(params, inflated.length)
    return { frame: { kind: 'call', id, method, params }, inflatedBytes: inflated.length }
  } catch {
    // Corrupt or too large: how much was inflated is not known.
    return refuse('not readable', MAX_INFLATED_BYTES)
  }
}

/** @returns Why not, where it can't be parsed. */
function parseObject(text: string): Params | string {
  if (hasTooManyValues(text)) return `more than ${MAX_VALUES} values`
  const value = parseJson(text) ?? (nonNumber.test(text) ? parseJson(withoutNonNumbers(text)) : null)
  return isObject(value) ? value : 'not a JSON object'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(storable(text))
  } catch {
    return null
  }
}

const nonNumber = /\b(?:inf|nan)\b/i
// A string may end with the text: if it could fail to match, each further quote in it would be tried again.
const stringsAndNonNumbers = /"(?:[^"\\]|\\.?)*(?:"|$)|-?\b(?:inf|nan)\b/gis

/** Access points write a load that they could not compute as `-inf`, which is no JSON. */
function withoutNonNumbers(text: string): string {
  return text.replace(stringsAndNonNumbers, (token) => (token.startsWith('"') ? token : 'null'))
}

const OPENING = 0x7b // {
const OPENING_LIST = 0x5b // [
const COMMA = 0x2c
const BACKSLASH = 0x5c

/** Counts what stands before values; texts have some of it too, so the true number is smaller. */
function hasTooManyValues(text: string): boolean {
  let values = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === COMMA || code === OPENING || code === OPENING_LIST || code === BACKSLASH) values += 1
    if (values > MAX_VALUES) return true
  }
  return false
}

const suspect = /\\u(?:0000|[dD][89a-fA-F])/
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)/gs
const unstorable = /^\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})$/

/** Replaces escaped NULs and lone surrogates, which are legal JSON but which PostgreSQL refuses to store. */
function storable(jsonText: string): string {
  if (!suspect.test(jsonText)) return jsonText
  return jsonText.replace(escapes, (escape) => (unstorable.test(escape) ? '\\ufffd' : escape))
}

export function encodeCall(id: number, method: string, params: Params): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** What a device sends by itself: a call that wants no reply. */
export function encodeNotification(method: string, params: Params): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

export function encodeResult(id: number, result: Params): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

/** The `compress_64` form of params, which devices use for large states. */
export function compressParams(params: Params): Params {
  const text = Buffer.from(JSON.stringify(params))
  return { compress_64: deflateSync(text).toString('base64'), compress_sz: text.length }
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isObject(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
