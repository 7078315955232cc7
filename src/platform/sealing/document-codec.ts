import { inheritLongIntegers, parseExactJson } from '../json/exact-json.ts'
import { isObject } from '../json/is-object.ts'
import { type Steps, startTurns } from '../queues/next-turn.ts'
import type { Secrets } from '../secrets.ts'
import { DocumentText } from './document-column.ts'
import { isSealed } from './secret-names.ts'

/** The prefix of a sealed value. A client's text with this prefix is itself sealed, so no client can forge one. */
const MARK = 'sealed:'
/** A document can't be opened, now or later. A plain Error would count as one that may pass; see isPassingError(). */
export class UnreadableDocumentError extends Error {}

/** Values between two chances to pause: each takes some microseconds. */
const VALUES_AT_ONCE = 50

/** Seals the secrets of documents on their way into the database, and opens them on their way out. */
export interface DocumentCodec {
  /** Returns the parameters of a statement with each DocumentText as JSON text whose secrets are sealed. */
  encodeParameters(values: readonly unknown[]): unknown[]
  /**
   * Opens the secrets in the column `doc` of the rows, in place.
   * @returns A promise if they are so many that others get their turn in between; otherwise they are open already.
   * @throws UnreadableDocumentError for a value that was not sealed with this key for a field of its name.
   */
  openRows(rows: readonly unknown[]): Promise<void> | undefined
}

/** A sealed value in a document. */
interface Place {
  readonly holder: Record<string, unknown>
  readonly name: string
  readonly sealed: string
}

export function createDocumentCodec(secrets: Pick<Secrets, 'seal' | 'open'>): DocumentCodec {
  /** The name is part of the seal, so that a secret can't be moved to a field that answers show to everybody. */
  const aadOf = (name: string): string => `document ${name}`

  const seal = (name: string, value: unknown): string =>
    MARK + secrets.seal(JSON.stringify(value), aadOf(name)).toString('base64url')

  /** Returns the value itself unless it contains secrets: a copy of a large document takes longer than its encoding. */
  function sealIn(value: unknown): unknown {
    if (Array.isArray(value)) return sealInItems(value)
    if (!isObject(value)) return value
    let copy: Record<string, unknown> | undefined
    for (const name in value) {
      const member = value[name]
      const written = member !== undefined && isSealed(name, member) ? seal(name, member) : sealIn(member)
      if (written === member) continue
      copy ??= { ...value }
      Object.defineProperty(copy, name, { value: written, enumerable: true })
    }
    return copy ?? value
  }

  function sealInItems(items: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined
    for (let index = 0; index < items.length; index += 1) {
      const written = sealIn(items[index])
      if (written === items[index]) continue
      copy ??= [...items]
      copy[index] = written
    }
    return copy ?? items
  }

  function encode(value: unknown): unknown {
    return value instanceof DocumentText ? JSON.stringify(sealIn(value.document)) : value
  }

  function open(name: string, sealed: string): unknown {
    try {
      return parseExactJson(secrets.open(Buffer.from(sealed.slice(MARK.length), 'base64url'), aadOf(name)))
    } catch (error) {
      throw new UnreadableDocumentError(`The stored field ${name} can't be decrypted with secret.key`, { cause: error })
    }
  }

  function findPlaces(value: unknown, places: Place[]): void {
    if (Array.isArray(value)) for (const item of value) findPlaces(item, places)
    if (!isObject(value)) return
    for (const name in value) {
      const member = value[name]
      if (typeof member !== 'string') findPlaces(member, places)
      else if (member.startsWith(MARK) && isSealed(name, member)) places.push({ holder: value, name, sealed: member })
    }
  }

  function* openAll(rows: readonly unknown[]): Steps<void> {
    for (const row of rows) {
      if (!isObject(row) || !isObject(row['doc'])) continue
      const places: Place[] = []
      findPlaces(row['doc'], places)
      for (const [index, { holder, name, sealed }] of places.entries()) {
        holder[name] = open(name, sealed)
        // The document records whether integers need care.
        inheritLongIntegers(row['doc'], holder[name])
        if (index % VALUES_AT_ONCE === 0) yield
      }
      yield
    }
  }

  return {
    encodeParameters: (values) => values.map((value) => (Array.isArray(value) ? value.map(encode) : encode(value))),
    openRows(rows) {
      const [first] = rows
      return isObject(first) && 'doc' in first ? startTurns(openAll(rows)) : undefined
    },
  }
}
