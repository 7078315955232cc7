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

/** Headers that many requests have. They are checked and encoded once. */
export class CommonHeaders {
  readonly headers: Readonly<Record<string, string>>
  #text: string | null = null

  constructor(headers: Readonly<Record<string, string>>) {
    this.headers = headers
  }

  /** @throws Error if a header can't be sent. */
  get text(): string {
    return (this.#text ??= linesOf(this.headers))
  }
}

/** A request of HTTP/1.1. */
export interface PlainRequest {
  readonly target: Target
  readonly method: 'GET' | 'POST'
  /** They come before the others. */
  readonly common?: CommonHeaders | undefined
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
export function encodeRequest({ target, method, common, headers, body }: PlainRequest): readonly Buffer[] {
  const length = body !== null || method === 'POST' ? `content-length: ${body?.length ?? 0}\r\n` : ''
  const start = `${method} ${target.path} HTTP/1.1\r\nhost: ${target.host}\r\nconnection: keep-alive\r\n`
  const head = `${start}${common?.text ?? ''}${linesOf(headers)}${length}\r\n`
  if (body === null) return [Buffer.from(head, 'latin1')]
  if (body.length > MAX_COPIED_BYTES) return [Buffer.from(head, 'latin1'), body]
  const all = Buffer.allocUnsafe(head.length + body.length)
  all.write(head, 0, 'latin1')
  body.copy(all, head.length)
  return [all]
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  let lines = ''
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value) || RESERVED.test(name))
      throw new Error(`invalid header ${name}`)
    lines += `${name}: ${value}\r\n`
  }
  return lines
}
