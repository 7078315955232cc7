import { parseCallable } from '../../platform/assert-callable.ts'
import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import type { CommonHeaders } from '../../platform/outbound/encode-request.ts'
import type { TokenGrant } from '../requests/oauth2.ts'

/** A message of the queue, before its type encodes it. */
export interface Encodable {
  /** The same for all attempts. */
  readonly id: string
  readonly topic: string
  /** `{"topic": ..., "events": [...]}`. */
  readonly body: Buffer
}

export interface SignedMessage extends Encodable {
  readonly at: Date
  /** Custom headers, and those of every request. */
  readonly common: CommonHeaders
  /** The headers of the signatures. */
  readonly signatures: Readonly<Record<string, string>>
}

export interface TypedRequest {
  /** Null if a header of the request would replace one of them. */
  readonly common: CommonHeaders | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Returns all headers of a message or a request. */
export function allHeaders({ common, headers }: Pick<TypedRequest, 'common' | 'headers'>): Record<string, string> {
  return { ...common?.headers, ...headers }
}

/** Encodes the messages of one webhook. Created once for many messages, so that keys are parsed once. */
export interface Encoder {
  /** Null for receivers without access tokens. */
  readonly grant: TokenGrant | null
  /** Returns the bytes that the signatures cover: those that the reader of the message gets. */
  encodeBody(message: Encodable): Buffer
  createRequest(message: SignedMessage): TypedRequest
}

/** A type of receivers: everything that distinguishes its webhooks from others. */
export interface ReceiverType {
  /** Fields that are stored encrypted and shown only to callers who may change them. */
  readonly secrets: readonly string[]
  /** Secret fields that no answer shows. */
  readonly hidden: readonly string[]
  /**
   * Validates the fields of a webhook, secrets included.
   *
   * @param stored The fields before the change, which an earlier release may have accepted; empty for a new webhook.
   * @returns The addresses that deliveries call besides `url`, by the fields that name them.
   * @throws AppError invalid, which names the field.
   */
  check(fields: Document, stored: Document): Readonly<Record<string, URL>>
  /** @param fields The fields of a valid webhook, secrets included. */
  open(fields: Document, webhookId: string): Encoder
  /** Returns the reason for a failure in the body of an answer, in a few words; null if it contains none. */
  explain(body: string): string | null
}

/** A type that sends each message unchanged. */
export const plainType: ReceiverType = {
  secrets: [],
  hidden: [],
  check: () => ({}),
  open: () => plainEncoder,
  explain: () => null,
}

export const plainEncoder: Encoder = {
  grant: null,
  encodeBody: ({ body }) => body,
  createRequest: ({ common, signatures, body }) => ({ common, headers: signatures, body }),
}

/** @throws AppError invalid, which names the field. */
export function requireText(fields: Document, name: string, type: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw invalidField(name, `is required for type ${type}`)
  return value
}

/** @throws AppError invalid, which names the field. */
export function parseAddress(field: string, url: unknown): URL {
  if (typeof url !== 'string' || url === '') throw invalidField(field, 'is required')
  return parseCallable(field, url, ': use headers')
}

/** Limits the text from an answer in the error of a delivery. */
const MAX_EXPLANATION = 300

/** Makes one line of texts from an answer; null if there are none. */
export function explanationOf(...texts: readonly (string | null | undefined)[]): string | null {
  const line = texts
    .filter((text) => typeof text === 'string' && text !== '')
    .join(': ')
    .replaceAll(/\s+/g, ' ')
  return line === '' ? null : line.slice(0, MAX_EXPLANATION)
}

/** @returns Null for anything that is not a JSON object. */
export function parseJsonObject(text: string): Document | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    // Receivers may answer with any text.
    return null
  }
}
