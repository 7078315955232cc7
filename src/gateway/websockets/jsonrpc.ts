import { deflateSync, inflateSync } from 'node:zlib'
import { isObject } from '../../platform/json/is-object.ts'

/** A uCentral frame: JSON-RPC 2.0, where devices send calls without an id and answer our calls by id. */
export type Frame =
  | { readonly kind: 'call'; readonly id: number | null; readonly method: string; readonly params: Params }
  | { readonly kind: 'reply'; readonly id: number; readonly result: unknown; readonly error: unknown }
  /** A packet of an access point's RADIUS proxy, which is not JSON-RPC. Signalbox does not support that proxy. */
  | { readonly kind: 'radius' }
  | { readonly kind: 'malformed'; readonly why: string }

export type Params = Readonly<Record<string, unknown>>

/** A call from the gateway to a device, without its id. */
export interface Call {
  readonly method: string
  readonly params: Params
}

/** A call whose params are compressed (`compress_64`). */
export interface PackedCall {
  readonly kind: 'packed'
  readonly id: number | null
  readonly method: string
  /** The compressed params in base64. */
  readonly packed: unknown
  /** The inflated size as the sender states it. */
  readonly size: unknown
}

/** Limits the inflated size of compressed params to that of the largest frame: a few KB of zlib can hold gigabytes. */
export const MAX_INFLATED_BYTES = 512 * 1024

/**
 * Limits the values and escapes in one text. Parsing takes up to 1 µs for each of them, a hundred times as long as for
 * a byte. The state of an access point with 300 clients has about 15,000, that of a switch with 54 ports 3,000.
 */
const MAX_VALUES = 20_000

/** Never throws: malformed input is an ordinary result, because peers send it. */
export function decodeFrame(text: string): Frame {
  const frame = decodeEnvelope(text)
  return frame.kind === 'packed' ? inflateCall(frame).frame : frame
}

/** Like decodeFrame, but leaves compressed params packed. */
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
  if (id !== null && !isId(id)) return { kind: 'malformed', why: 'id is not an integer' }
  const params = frame['params'] ?? {}
  if (!isObject(params)) return { kind: 'malformed', why: 'params is not an object' }
  if (!('compress_64' in params)) return { kind: 'call', id, method, params }
  return { kind: 'packed', id, method, packed: params['compress_64'], size: params['compress_sz'] }
}

/** `inflatedBytes` counts the inflated bytes even if the result is malformed. Never throws. */
export function inflateCall({ id, method, packed, size }: PackedCall): { frame: Frame; inflatedBytes: number } {
  const refuse = (why: string, inflatedBytes = 0): { frame: Frame; inflatedBytes: number } => ({
    frame: { kind: 'malformed', why: `compressed params: ${why}` },
    inflatedBytes,
  })
  // The stated size only allows an early refusal; the real size is limited in any case.
  if (typeof size === 'number' && size > MAX_INFLATED_BYTES) return refuse('too large')
  if (typeof packed !== 'string') return refuse('not readable')
  try {
    const inflated = inflateSync(Buffer.from(packed, 'base64'), {
      maxOutputLength: MAX_INFLATED_BYTES,
      chunkSize: chunkBytesFor(size),
    })
    const params = parseObject(inflated.toString('utf8'))
    if (typeof params === 'string') return refuse(params, inflated.length)
    return { frame: { kind: 'call', id, method, params }, inflatedBytes: inflated.length }
  } catch {
    // The data is corrupt or too large, so the number of inflated bytes is unknown.
    return refuse('not readable', MAX_INFLATED_BYTES)
  }
}

/** With smaller ones, a sender that states too small a size would cost much time. */
const MIN_CHUNK_BYTES = 4 * 1024
const MAX_CHUNK_BYTES = 16 * 1024

/** One chunk that is a little larger than what the sender states: each takes memory of its own, used or not. */
function chunkBytesFor(size: unknown): number {
  if (typeof size !== 'number' || !(size >= 0)) return MAX_CHUNK_BYTES
  return Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, Math.ceil(size) + 1))
}

/** @returns The object, or the reason why the text can't be parsed. */
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
// An unterminated string matches up to the end of the text; otherwise the regex would retry at each later quote.
const stringsAndNonNumbers = /"(?:[^"\\]|\\.?)*(?:"|$)|-?\b(?:inf|nan)\b/gis

/** Access points write a load that they could not compute as `-inf`, which is not valid JSON. */
function withoutNonNumbers(text: string): string {
  return text.replace(stringsAndNonNumbers, (token) => (token.startsWith('"') ? token : 'null'))
}

const OPENING = 0x7b // {
const OPENING_LIST = 0x5b // [
const COMMA = 0x2c
const BACKSLASH = 0x5c

/** Counts the characters that precede values. Strings may contain them too, so the true number can be smaller. */
function hasTooManyValues(text: string): boolean {
  // Each value takes a character at least.
  if (text.length <= MAX_VALUES) return false
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

/** Encodes a call that expects no reply, as devices send it. */
export function encodeNotification(method: string, params: Params): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

export function encodeResult(id: number, result: Params): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export function encodeError(id: number | null, error: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

/** Encodes params in the `compress_64` form, which devices use for large states. */
export function compressParams(params: Params): Params {
  const text = Buffer.from(JSON.stringify(params))
  return { compress_64: deflateSync(text).toString('base64'), compress_sz: text.length }
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value)
}
