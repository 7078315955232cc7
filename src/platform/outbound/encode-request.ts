import { HEADER_NAME, HEADER_VALUE } from './header-syntax.ts'

/** The parts of a URL of which a request consists. They are texts, because URL makes each one anew. */
export interface Target {
  readonly url: URL
  readonly origin: string
  readonly host: string
  /** With the query. */
  readonly path: string
}

export function targetOf(url: URL): Target {
  return { url, origin: url.origin, host: url.host, path: `${url.pathname}${url.search}` }
}

/** A request of HTTP/1.1. */
export interface PlainRequest {
  readonly target: Target
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

/** Headers that only this file writes. */
const RESERVED = /^(?:host|connection|content-length|transfer-encoding|upgrade|expect)$/i

/** Larger bodies are not copied behind their head. */
const MAX_COPIED_BYTES = 32 * 1024

/**
 * Encodes a request in as few buffers as is cheap: each one more costs about as much as the copy of a usual body.
 * @throws Error if a header can't be sent.
 */
export function encodeRequest({ target, method, headers, body }: PlainRequest): readonly Buffer[] {
  let head = `${method} ${target.path} HTTP/1.1\r\nhost: ${target.host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value) || RESERVED.test(name))
      throw new Error(`invalid header ${name}`)
    head += `${name}: ${value}\r\n`
  }
  if (body !== null || method === 'POST') head += `content-length: ${body?.length ?? 0}\r\n`
  head += '\r\n'
  if (body === null) return [Buffer.from(head, 'latin1')]
  if (body.length > MAX_COPIED_BYTES) return [Buffer.from(head, 'latin1'), body]
  const all = Buffer.allocUnsafe(head.length + body.length)
  all.write(head, 0, 'latin1')
  body.copy(all, head.length)
  return [all]
}
