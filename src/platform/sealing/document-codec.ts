import { inheritLongIntegers, parseExactJson } from '../exact-json.ts'
import { isObject } from '../is-object.ts'
import type { Secrets } from '../secrets.ts'
import { DocumentText } from './document-column.ts'
import { isSealed } from './secret-names.ts'

/** The prefix of a sealed value. A client's text with this prefix is itself sealed, so no client can forge one. */
const MARK = 'sealed:'

/** Seals the secrets of documents on their way into the database, and opens them on their way out. */
export interface DocumentCodec {
  /** Returns the parameters of a statement with each DocumentText as JSON text whose secrets are sealed. */
  encodeParameters(values: readonly unknown[]): unknown[]
  /**
   * Opens the secrets in the column `doc` of the rows, in place.
   * @throws Error for a value that was not sealed with this key for a field of its name.
   */
  openRows(rows: readonly unknown[]): void
}

export function createDocumentCodec(secrets: Pick<Secrets, 'seal' | 'open'>): DocumentCodec {
  /** The name is part of the seal, so that a secret can't be moved to a field that answers show to everybody. */
  const aadOf = (name: string): string => `document ${name}`

  function seal(name: string, value: unknown): unknown {
    if (!isSealed(name, value)) return value
    return MARK + secrets.seal(JSON.stringify(value), aadOf(name)).toString('base64url')
  }

  function encode(value: unknown): unknown {
    return value instanceof DocumentText ? JSON.stringify(value.document, seal) : value
  }

  function open(name: string, sealed: string): unknown {
    try {
      return parseExactJson(secrets.open(Buffer.from(sealed.slice(MARK.length), 'base64url'), aadOf(name)))
    } catch (error) {
      throw new Error(`The stored field ${name} can't be decrypted with secret.key`, { cause: error })
    }
  }

  /** @param document The document with the value: it records whether integers need care. */
  function openIn(value: unknown, document: object): void {
    if (Array.isArray(value)) for (const item of value) openIn(item, document)
    if (!isObject(value)) return
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== 'string') openIn(member, document)
      else if (member.startsWith(MARK) && isSealed(name, member)) {
        value[name] = open(name, member)
        inheritLongIntegers(document, value[name])
      }
    }
  }

  return {
    encodeParameters: (values) => values.map((value) => (Array.isArray(value) ? value.map(encode) : encode(value))),
    openRows(rows) {
      const [first] = rows
      if (!isObject(first) || !('doc' in first)) return
      for (const row of rows) if (isObject(row) && isObject(row['doc'])) openIn(row['doc'], row['doc'])
    },
  }
}
