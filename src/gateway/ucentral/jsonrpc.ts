import { deflateSync, inflateSync } from 'node:zlib'

/** A frame as uCentral has it: JSON-RPC 2.0, where devices send calls without an id and answer ours by id. */
export type Frame =
  | { readonly kind: 'call'; readonly id: number | null; readonly method: string; readonly params: Params }
  | { readonly kind: 'reply'; readonly id: number; readonly result: unknown; readonly error: unknown }
  | { readonly kind: 'malformed'; readonly why: string }

export type Params = Readonly<Record<string, unknown>>

/** Inflated size of compressed params: a few KB of zlib can hold gigabytes. */
export const MAX_INFLATED_BYTES = 2 * 1024 * 1024

/** Never throws: what can't be understood is a value, because peers send it. */
export function decodeFrame(text: string): Frame {
  const frame = parseObject(text)
  if (frame === null) return { kind: 'malformed', why: 'not a JSON object' }
  if (typeof frame['method'] === 'string') return decodeCall(frame, frame['method'])
  const id = frame['id']
  if (isId(id) && ('result' in frame || 'error' in frame)) {
    return { kind: 'reply', id, result: frame['result'], error: frame['error'] }
  }
  return { kind: 'malformed', why: 'neither call nor reply' }
}

function decodeCall(frame: Params, method: string): Frame {
  const id = frame['id'] ?? null
  if (id !== null && !isId(id)) return { kind: 'malformed', why: 'id is no integer' }
  const params = frame['params'] ?? {}
  if (!isObject(params)) return { kind: 'malformed', why: 'params is no object' }
  if (!('compress_64' in params)) return { kind: 'call', id, method, params }
  const inflated = inflateParams(params)
  if (inflated === null) return { kind: 'malformed', why: 'compressed params can not be read' }
  return { kind: 'call', id, method, params: inflated }
}

/** `compress_sz`, the sender's own figure, only serves to refuse early: the real size is bounded in any case. */
function inflateParams(params: Params): Params | null {
  const { compress_64: packed, compress_sz: size } = params
  if (typeof packed !== 'string') return null
  if (typeof size === 'number' && size > MAX_INFLATED_BYTES) return null
  try {
    const inflated = inflateSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_INFLATED_BYTES })
    return parseObject(inflated.toString('utf8'))
  } catch {
    // Corrupt or too large: to the caller both are a malformed frame.
    return null
  }
}

function parseObject(text: string): Params | null {
  try {
    const value: unknown = JSON.parse(storable(text))
    return isObject(value) ? value : null
  } catch {
    return null
  }
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

/** Clients fail on ids below 2 and above a signed 32-bit integer. */
export const MIN_CALL_ID = 2
export const MAX_CALL_ID = 2 ** 31 - 1

export function nextCallId(id: number): number {
  return id >= MAX_CALL_ID ? MIN_CALL_ID : id + 1
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isObject(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
