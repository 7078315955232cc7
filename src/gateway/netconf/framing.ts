import { ByteQueue } from './byte-queue.ts'

/** The end of messages on the wire. Source: RFC 6242, 4. */
export type Framing = 'end_of_message' | 'chunked'

const END = Buffer.from(']]>]]>')
/** The largest chunk that the RFC allows has ten digits. */
const MAX_SIZE_DIGITS = 10
/** A message in smaller chunks than this on average only wastes time. */
const MIN_MEAN_CHUNK_BYTES = 16
const FREE_CHUNKS = 64

export function encodeMessage(text: string, framing: Framing): Buffer {
  const body = Buffer.from(text)
  if (framing === 'end_of_message') return Buffer.concat([body, END])
  return Buffer.concat([Buffer.from(`\n#${body.length}\n`), body, Buffer.from('\n##\n')])
}

/** The peer sent an invalid frame, or a message that is too large. The stream can't be read any further. */
export class FramingError extends Error {}

/**
 * Decodes a stream of messages incrementally. It stores at most one incomplete message of `maxBytes`, and its work is
 * linear in the received bytes.
 */
export class FrameDecoder {
  readonly #maxBytes: number
  readonly #queue = new ByteQueue()
  #framing: Framing = 'end_of_message'
  /** The number of bytes of the queue that were searched for the end of the message. */
  #searched = 0
  /** The chunks of the incomplete message. */
  #chunks: Buffer[] = []
  #chunkCount = 0
  #chunkBytes = 0
  /** Bytes of the present chunk that are still missing. */
  #missing = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** True when nothing of another message has arrived. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#chunkCount === 0
  }

  /** Both peers change the framing right after their hello. */
  setFraming(framing: Framing): void {
    this.#framing = framing
    this.#searched = 0
  }

  /** Adds bytes that have arrived; `next` returns the messages in them. */
  push(bytes: Buffer): void {
    this.#queue.push(bytes)
  }

  /**
   * Returns the next complete message, or null until more bytes arrive.
   * @throws FramingError
   */
  next(): string | null {
    return this.#framing === 'chunked' ? this.#nextChunked() : this.#nextEnded()
  }

  #nextEnded(): string | null {
    const end = this.#queue.indexOf(END, this.#searched)
    if ((end === -1 ? this.#queue.length : end) > this.#maxBytes) throw tooLarge()
    if (end === -1) {
      // The mark may be split.
      this.#searched = Math.max(0, this.#queue.length - END.length + 1)
      return null
    }
    this.#searched = 0
    return this.#queue
      .take(end + END.length)
      .subarray(0, end)
      .toString('utf8')
  }

  #nextChunked(): string | null {
    for (;;) {
      if (this.#missing > 0) {
        const part = this.#queue.take(this.#missing)
        this.#missing -= part.length
        if (part.length > 0) this.#chunks.push(part)
        if (this.#missing > 0) return null
      }
      const header = this.#takeHeader()
      if (header === null) return null
      if (header === 'end') return this.#takeMessage()
      this.#chunkCount += 1
      this.#chunkBytes += header
      if (this.#chunkBytes > this.#maxBytes) throw tooLarge()
      if (this.#chunkCount > FREE_CHUNKS && this.#chunkBytes < this.#chunkCount * MIN_MEAN_CHUNK_BYTES)
        throw new FramingError('the chunks are too small')
      this.#missing = header
    }
  }

  #takeMessage(): string {
    if (this.#chunkCount === 0) throw new FramingError('a message has no chunk')
    const message = Buffer.concat(this.#chunks).toString('utf8')
    this.#chunks = []
    this.#chunkCount = this.#chunkBytes = 0
    return message
  }

  /**
   * Removes the header of the next chunk and returns its size, or `end` after the last chunk; null until the whole
   * header has arrived.
   */
  #takeHeader(): number | 'end' | null {
    const text = this.#queue
      .view()
      .subarray(0, MAX_SIZE_DIGITS + 3)
      .toString('latin1')
    const [header] = /^\n#(?:#|[1-9]\d{0,9})\n/.exec(text) ?? []
    if (header === undefined) {
      if (/^(?:\n(?:#(?:#|[1-9]\d{0,9})?)?)?$/.test(text)) return null
      throw new FramingError('the header of a chunk is malformed')
    }
    this.#queue.take(header.length)
    return header === '\n##\n' ? 'end' : Number(header.slice(2, -1))
  }
}

function tooLarge(): FramingError {
  return new FramingError('the message is too large')
}
