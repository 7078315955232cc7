import { HEADER_NAME, HEADER_VALUE } from './header-syntax.ts'

/** The status and headers of an answer. Names are in lower case; a header that comes more than once has an array. */
export interface AnswerHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
}

export interface AnswerReader {
  onHead(head: AnswerHead): void
  /** Gets a part of the body. Its memory is used again after the call. */
  onBody(part: Buffer): void
}

/** Limits the headers, and the interim answers before them together. */
const MAX_HEAD_BYTES = 16 * 1024
/** Limits a line with the size of a part of the body, and the lines after the body together. */
const MAX_LINE_BYTES = 4096
/** RFC 9112, 4. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?$/
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;.*)?$/

type State = 'head' | 'fixed' | 'until_end' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailers' | 'complete'

/**
 * Parses one answer of HTTP/1.1 from the bytes of a connection. Interim answers are skipped. If the length of the body is
 * contradictory, the body lasts until the end of the connection, which is not used again.
 */
export class HttpAnswerParser {
  readonly #reader: AnswerReader
  #state: State = 'head'
  /** The bytes of a line or head that is not complete. */
  #kept: Buffer | null = null
  /** The bytes that are left of the body, or of its present part. */
  #left = 0
  #interimBytes = 0
  #trailerBytes = 0
  /** True if any byte of the answer has arrived. */
  hasBegun = false
  /** How long the connection may wait for another request; 0 if it must be closed. Valid once the answer is complete. */
  keepMs = 0

  constructor(reader: AnswerReader) {
    this.#reader = reader
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  get hasHead(): boolean {
    return this.#state !== 'head'
  }

  /** @throws Error with a sentence for people if this is no answer. */
  push(bytes: Buffer): void {
    this.hasBegun = true
    let rest = bytes
    if (this.#kept !== null) {
      rest = Buffer.concat([this.#kept, bytes])
      this.#kept = null
    }
    while (rest.length > 0) {
      const next = this.#step(rest)
      if (next === null) {
        // The memory of `bytes` is used again.
        this.#kept = Buffer.from(rest)
        return
      }
      rest = next
    }
  }

  /** Must be called when the other side has ended the connection. @returns False if the answer is not complete. */
  end(): boolean {
    if (this.#state === 'until_end') this.#complete(false)
    return this.isComplete
  }

  /** @returns The bytes that are left; null if more are needed. */
  #step(bytes: Buffer): Buffer | null {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes)
      case 'until_end':
        this.#reader.onBody(bytes)
        return bytes.subarray(bytes.length)
      case 'fixed':
      case 'chunk':
        return this.#readBody(bytes)
      case 'chunk_size':
      case 'chunk_end':
      case 'trailers':
        return this.#readLine(bytes)
      case 'complete':
        // Nothing was requested: what comes now could be taken for the answer to the next request.
        this.keepMs = 0
        return bytes.subarray(bytes.length)
    }
  }

  #readHead(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf('\r\n\r\n', 0, 'latin1')
    if (end > MAX_HEAD_BYTES || (end < 0 && bytes.length > MAX_HEAD_BYTES)) throw longHead()
    if (end < 0) {
      if (!'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7))) throw noAnswer()
      return null
    }
    const lines = bytes.toString('latin1', 0, end).split('\r\n')
    const rest = bytes.subarray(end + 4)
    const [, minor, code] = STATUS_LINE.exec(lines[0] ?? '') ?? []
    if (minor === undefined) throw noAnswer()
    const status = Number(code)
    if (status === 101) throw new Error('the answer changes the protocol')
    const headers = headersOf(lines)
    if (status >= 200) {
      this.#beginBody({ status, headers }, minor)
      return rest
    }
    this.#interimBytes += end
    if (this.#interimBytes > MAX_HEAD_BYTES) throw longHead()
    return rest
  }

  #beginBody(head: AnswerHead, minor: string): void {
    const { status, headers } = head
    const coding = lastOf(headers['transfer-encoding'])
    const length = lengthOf(headers['content-length'])
    this.keepMs = keptMs(headers, minor)
    this.#reader.onHead(head)
    if (status === 204 || status === 304) {
      if (coding !== undefined || (status === 204 && length !== 0 && length !== null)) this.keepMs = 0
      this.#complete(true)
    } else if (coding !== undefined) {
      if (length !== null || minor === '0') this.keepMs = 0
      this.#state = coding === 'chunked' ? 'chunk_size' : 'until_end'
    } else if (length === null || Number.isNaN(length)) {
      this.#state = 'until_end'
    } else {
      this.#left = length
      if (length === 0) this.#complete(true)
      else this.#state = 'fixed'
    }
  }

  #complete(isDelimited: boolean): void {
    this.#state = 'complete'
    if (!isDelimited) this.keepMs = 0
  }

  #readBody(bytes: Buffer): Buffer {
    const part = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)
    this.#left -= part.length
    this.#reader.onBody(part)
    if (this.#left === 0) {
      if (this.#state === 'fixed') this.#complete(true)
      else this.#state = 'chunk_end'
    }
    return bytes.subarray(part.length)
  }

  #readLine(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf('\r\n', 0, 'latin1')
    if (end > MAX_LINE_BYTES || (end < 0 && bytes.length > MAX_LINE_BYTES)) throw badBody()
    if (end < 0) return null
    const line = bytes.toString('latin1', 0, end)
    if (this.#state === 'trailers') {
      this.#trailerBytes += line.length
      if (this.#trailerBytes > MAX_LINE_BYTES) throw badBody()
      if (line === '') this.#complete(true)
    } else if (this.#state === 'chunk_end') {
      if (line !== '') throw badBody()
      this.#state = 'chunk_size'
    } else {
      const [, size] = CHUNK_SIZE.exec(line) ?? []
      if (size === undefined) throw badBody()
      this.#left = Number.parseInt(size, 16)
      this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    }
    return bytes.subarray(end + 2)
  }
}

function noAnswer(): Error {
  return new Error('the answer is not HTTP/1.1')
}

function longHead(): Error {
  return new Error('the headers of the answer are too long')
}

function badBody(): Error {
  return new Error('the body of the answer is not HTTP/1.1')
}

/** Other values are shown as UTF-8, which is what receivers usually mean. */
const IS_ASCII = /^[\t\x20-\x7e]*$/

function headersOf(lines: readonly string[]): Record<string, string | readonly string[]> {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (let at = 1; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    const value = withoutSpaces(line, colon + 1)
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw new Error('a header of the answer is not HTTP/1.1')
    const key = name.toLowerCase()
    const text = IS_ASCII.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
    const known = headers[key]
    if (known === undefined) headers[key] = text
    else if (typeof known === 'string') headers[key] = [known, text]
    else known.push(text)
  }
  return headers
}

/**
 * Returns the text from a place on without spaces and tabs around it. A regular expression would try each of thousands of
 * spaces as the first one, and the receiver chooses how many there are.
 */
function withoutSpaces(text: string, from: number): string {
  const isSpace = (at: number): boolean => text[at] === ' ' || text[at] === '\t'
  let [start, end] = [from, text.length]
  while (start < end && isSpace(start)) start += 1
  while (end > start && isSpace(end - 1)) end -= 1
  return text.slice(start, end)
}

/** Returns the members of a list in a header, in lower case. */
function membersOf(header: string | readonly string[] | undefined): string[] {
  if (header === undefined) return []
  const text = typeof header === 'string' ? header : header.join(',')
  return text.split(',').map((member) => member.trim().toLowerCase())
}

/** Returns the last member of a list in a header, in lower case; undefined if there is no such header. */
function lastOf(header: string | readonly string[] | undefined): string | undefined {
  return membersOf(header).at(-1)
}

/** Returns the length of the body; null if none is given, NaN if it is no length or there are different ones. */
function lengthOf(header: string | readonly string[] | undefined): number | null {
  if (header === undefined) return null
  const [first = '', ...others] = typeof header === 'string' && !header.includes(',') ? [header] : membersOf(header)
  return /^\d{1,15}$/.test(first) && others.every((other) => other === first) ? Number(first) : NaN
}

/** How long a connection is kept by default. It is short, because a request fails on a connection that the other side is just closing. */
const KEPT_MS = 1000
/** The other side may close the connection so long before the end of the time that it announces. */
const MARGIN_MS = 2000

function keptMs(headers: AnswerHead['headers'], minor: string): number {
  const connection = headers['connection']
  const members = connection === 'keep-alive' ? ['keep-alive'] : membersOf(connection)
  if (members.includes('close') || (minor === '0' && !members.includes('keep-alive'))) return 0
  const hint = headers['keep-alive']
  const seconds = typeof hint === 'string' ? /(?:^|[,\s])timeout=(\d{1,9})/i.exec(hint)?.[1] : undefined
  if (seconds === undefined) return KEPT_MS
  return Math.max(0, Math.min(KEPT_MS, Number(seconds) * 1000 - MARGIN_MS))
}
