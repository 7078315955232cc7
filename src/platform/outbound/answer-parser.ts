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
/** A line that continues the one before. RFC 9112, 5.2. */
const FOLD = /\r\n[\t ]+/g
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;.*)?$/

type State = 'head' | 'fixed' | 'until_end' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailers' | 'complete'

/** A head with what it says about the body and the connection. */
interface ParsedHead {
  readonly head: AnswerHead
  /** The state of the parser after it. */
  readonly next: 'fixed' | 'until_end' | 'chunk_size' | 'complete'
  /** The length of a body that is `fixed`. */
  readonly length: number
  readonly keepMs: number
}

/** Longer heads are not remembered. */
const MAX_REMEMBERED_BYTES = 1024

/** The last head of the answers of an origin: most are alike but for a time, which changes once a second. */
export class LastHead {
  #bytes: Buffer | null = null
  #parsed: ParsedHead | null = null

  /** Returns the length of the remembered head if the bytes from `at` begin with it; 0 if they don't. */
  lengthAt(bytes: Buffer, at: number): number {
    const length = this.#bytes?.length ?? 0
    const isSame = this.#bytes?.compare(bytes, at, Math.min(at + length, bytes.length)) === 0
    return isSame ? length : 0
  }

  get parsed(): ParsedHead | null {
    return this.#parsed
  }

  remember(bytes: Buffer, parsed: ParsedHead): void {
    if (bytes.length > MAX_REMEMBERED_BYTES) return
    this.#bytes = Buffer.from(bytes)
    this.#parsed = parsed
  }
}

/**
 * Parses one answer of HTTP/1.1 from the bytes of a connection. Interim answers are skipped. If the length of the body is
 * contradictory, the body lasts until the end of the connection, which is not used again.
 */
export class HttpAnswerParser {
  readonly #reader: AnswerReader
  readonly #last: LastHead
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

  /** @param last That of the answers of the same origin before this one. */
  constructor(reader: AnswerReader, last = new LastHead()) {
    this.#reader = reader
    this.#last = last
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  get hasHead(): boolean {
    return this.#state !== 'head'
  }

  /** @throws Error with a sentence for people if this is not an answer. */
  push(added: Buffer): void {
    this.hasBegun = true
    const bytes = this.#kept === null ? added : Buffer.concat([this.#kept, added])
    this.#kept = null
    for (let at = 0; at < bytes.length;) {
      const next = this.#step(bytes, at)
      if (next < 0) {
        // The memory of `added` is used again.
        this.#kept = Buffer.from(bytes.subarray(at))
        return
      }
      at = next
    }
  }

  /** Must be called when the other side has ended the connection. @returns False if the answer is not complete. */
  end(): boolean {
    if (this.#state === 'until_end') {
      this.#state = 'complete'
      this.keepMs = 0
    }
    return this.isComplete
  }

  /** @returns The place from which to go on; -1 if more bytes are needed. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, at)
      case 'until_end':
        this.#reader.onBody(bytes.subarray(at))
        return bytes.length
      case 'fixed':
      case 'chunk':
        return this.#readBody(bytes, at)
      case 'chunk_size':
      case 'chunk_end':
      case 'trailers':
        return this.#readLine(bytes, at)
      case 'complete':
        // Nothing was requested: what comes now could be taken for the answer to the next request.
        this.keepMs = 0
        return bytes.length
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const known = this.#last.lengthAt(bytes, at)
    if (known > 0 && this.#last.parsed !== null) {
      this.#beginBody(this.#last.parsed)
      return at + known
    }
    const end = bytes.indexOf('\r\n\r\n', at, 'latin1')
    if (end - at > MAX_HEAD_BYTES || (end < 0 && bytes.length - at > MAX_HEAD_BYTES)) throw longHead()
    if (end < 0) {
      if (!'HTTP/1.'.startsWith(bytes.toString('latin1', at, at + 7))) throw noAnswer()
      // Simple programs forget the carriage returns, and would learn only that there was no answer in time.
      if (bytes.includes('\n\n', at, 'latin1')) throw new Error('the lines of the answer do not end as in HTTP/1.1')
      return -1
    }
    const next = end + 4
    const lines = bytes.toString('latin1', at, end).replaceAll(FOLD, ' ').split('\r\n')
    const [, minor, code] = STATUS_LINE.exec(lines[0] ?? '') ?? []
    if (minor === undefined) throw noAnswer()
    const status = Number(code)
    if (status === 101) throw new Error('the answer changes the protocol')
    const headers = headersOf(lines)
    if (status >= 200) {
      const parsed = parsedHead({ status, headers }, minor)
      this.#last.remember(bytes.subarray(at, next), parsed)
      this.#beginBody(parsed)
      return next
    }
    this.#interimBytes += end - at
    if (this.#interimBytes > MAX_HEAD_BYTES) throw longHead()
    return next
  }

  #beginBody({ head, next, length, keepMs }: ParsedHead): void {
    this.keepMs = keepMs
    this.#left = length
    this.#reader.onHead(head)
    this.#state = next
  }

  #readBody(bytes: Buffer, at: number): number {
    const next = Math.min(bytes.length, at + this.#left)
    this.#left -= next - at
    this.#reader.onBody(bytes.subarray(at, next))
    if (this.#left === 0) this.#state = this.#state === 'fixed' ? 'complete' : 'chunk_end'
    return next
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at, 'latin1')
    if (end - at > MAX_LINE_BYTES || (end < 0 && bytes.length - at > MAX_LINE_BYTES)) throw badBody()
    if (end < 0) return -1
    const length = end - at
    if (this.#state === 'trailers') {
      this.#trailerBytes += length
      if (this.#trailerBytes > MAX_LINE_BYTES) throw badBody()
      if (length === 0) this.#state = 'complete'
    } else if (this.#state === 'chunk_end') {
      if (length > 0) throw badBody()
      this.#state = 'chunk_size'
    } else {
      this.#left = chunkBytes(bytes.toString('latin1', at, end))
      this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    }
    return end + 2
  }
}

function parsedHead(head: AnswerHead, minor: string): ParsedHead {
  const { status, headers } = head
  const coding = lastOf(headers['transfer-encoding'])
  const length = lengthOf(headers['content-length'])
  const keepMs = keptMs(headers, minor)
  if (status === 204 || status === 304) {
    const isContradictory = coding !== undefined || (status === 204 && length !== 0 && length !== null)
    return { head, next: 'complete', length: 0, keepMs: isContradictory ? 0 : keepMs }
  }
  if (coding !== undefined) {
    const isContradictory = length !== null || minor === '0'
    return {
      head,
      next: coding === 'chunked' ? 'chunk_size' : 'until_end',
      length: 0,
      keepMs: isContradictory ? 0 : keepMs,
    }
  }
  if (length === null || Number.isNaN(length)) return { head, next: 'until_end', length: 0, keepMs }
  return { head, next: length === 0 ? 'complete' : 'fixed', length, keepMs }
}

/** @throws Error if the line has no length. */
function chunkBytes(line: string): number {
  if (line === '0') return 0
  const [, size] = CHUNK_SIZE.exec(line) ?? []
  if (size === undefined) throw badBody()
  return Number.parseInt(size, 16)
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

/** Returns the length of the body; null if none is given, NaN if it is not a length or there are different ones. */
function lengthOf(header: string | readonly string[] | undefined): number | null {
  if (header === undefined) return null
  const [first = '', ...others] = typeof header === 'string' && !header.includes(',') ? [header] : membersOf(header)
  return /^\d{1,15}$/.test(first) && others.every((other) => other === first) ? Number(first) : NaN
}

/** How long a connection is kept by default. It is short, because a request fails on a connection that the other side is just closing. */
const KEPT_MS = 1000
/** How long before the end of the announced time the other side may close the connection. */
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
