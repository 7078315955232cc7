import { nextTurn } from '../../platform/queues/next-turn.ts'

/** The size that a slice aims at: it takes about half a millisecond. */
const SLICE_LENGTH = 32 * 1024
/** Other requests get their turn after this much text. */
const TURN_LENGTH = 128 * 1024

/** An answer that is already encoded as JSON, for many callers with the same request at the same time. */
export class EncodedJson<T> {
  declare readonly value: T
  readonly text: string | Buffer

  private constructor(text: string | Buffer) {
    this.text = text
  }

  static async from<V>(value: V): Promise<EncodedJson<V>> {
    return new EncodedJson<V>(await encodeJson(value))
  }
}

/**
 * Encodes a value as `JSON.stringify` does. A long list, alone or in a field, is encoded in slices with turns for other
 * requests in between, so that a page of megabytes delays nobody; the result is then a buffer outside of the heap.
 * @param giveWay Lets others have their turn.
 */
export async function encodeJson(value: unknown, giveWay: () => Promise<void> = nextTurn): Promise<string | Buffer> {
  const slices = slicesOf(value)
  const first = slices.next()
  if (first.done === true) return ''
  let text = first.value
  const parts: Buffer[] = []
  for (const slice of slices) {
    text += slice
    if (text.length < TURN_LENGTH) continue
    parts.push(Buffer.from(text))
    text = ''
    await giveWay()
  }
  return parts.length === 0 ? text : Buffer.concat([...parts, Buffer.from(text)])
}

function* slicesOf(value: unknown): Generator<string, void> {
  if (Array.isArray(value)) yield* slicesOfList(value)
  else if (isPlain(value) && Object.values(value).some(isLong)) yield* slicesOfObject(value)
  else yield JSON.stringify(value)
}

const isLong = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > 1

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype
}

function* slicesOfObject(value: Record<string, unknown>): Generator<string, void> {
  let separator = '{'
  for (const [name, member] of Object.entries(value)) {
    const text = isLong(member) ? '' : JSON.stringify(member)
    // A member without a JSON value is left out.
    if (text === undefined) continue
    yield `${separator}${JSON.stringify(name)}:${text}`
    if (isLong(member)) yield* slicesOfList(member)
    separator = ','
  }
  yield separator === '{' ? '{}' : '}'
}

/** Takes more rows at a time while they are small: each call has a cost of its own. */
function* slicesOfList(rows: readonly unknown[]): Generator<string, void> {
  let separator = '['
  let size = 1
  for (let start = 0; start < rows.length;) {
    const text = JSON.stringify(rows.slice(start, start + size)).slice(1, -1)
    yield separator + text
    separator = ','
    start += size
    size = text.length < SLICE_LENGTH ? size * 2 : Math.max(1, Math.floor(size / 2))
  }
  yield separator === '[' ? '[]' : ']'
}
