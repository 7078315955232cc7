import { isDeepStrictEqual } from 'node:util'
import type { Document } from '../../platform/json/document.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { isSecret, isUrl } from '../../platform/sealing/secret-names.ts'

/** The secrets that an answer shows: all, or only those that the request itself has written. */
export type Reveal = 'all' | { readonly written: Document }

export function presentSecrets(document: Document, reveal: Reveal): Document {
  return reveal === 'all' ? document : omitSecrets(document, reveal.written)
}

/**
 * Returns the document without secrets, for the audit log and for callers who may not see them. It drops texts whose
 * names mark them as secrets, and logins in addresses, at any depth.
 * @param written Its values remain if the document has the same values in the same place.
 */
export function omitSecrets(document: Document, written: Document = {}): Record<string, unknown> {
  return { ...omitMembers(document, written) }
}

/** Returns the document itself, and values of it, unless they contain secrets: a large document takes long to copy. */
function omitMembers(document: Document, written: Document): Document {
  let copy: Record<string, unknown> | undefined
  for (const name in document) {
    const value = document[name]
    const isOmitted = isSecret(name, value) && !isDeepStrictEqual(value, written[name])
    const shown = isOmitted ? undefined : presentField(name, value, written[name])
    if (!isOmitted && shown === value) continue
    copy ??= { ...document }
    if (isOmitted) delete copy[name]
    else copy[name] = shown
  }
  return copy ?? document
}

/** True if omitSecrets() would change the document. */
export function hasSecrets(document: Document): boolean {
  for (const name in document) {
    const value = document[name]
    if (isSecret(name, value) || hasLogin(name, value) || isOpen(value)) return true
  }
  return false
}

function hasLogin(name: string, value: unknown): boolean {
  return isUrl(name, value) && withoutLogin(value) !== value
}

/** True for a value that contains secrets at any depth. */
function isOpen(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isOpen)
  return isObject(value) && hasSecrets(value)
}

function presentField(name: string, value: unknown, written: unknown): unknown {
  if (isSecret(name, value)) return value
  return isUrl(name, value) && value !== written ? withoutLogin(value) : withoutSecrets(value, written)
}

/** Addresses of proxies may have no scheme. */
function withoutLogin(url: string): string {
  return url.replace(/^([^/?#]*\/\/)?[^/?#]*@/, '$1')
}

function withoutSecrets(value: unknown, written: unknown): unknown {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = Array.isArray(written) ? written : []
    const shown = value.map((item, index) => withoutSecrets(item, items[index]))
    return shown.some((item, index) => item !== value[index]) ? shown : value
  }
  return isObject(value) ? omitMembers(value, isObject(written) ? written : {}) : value
}
