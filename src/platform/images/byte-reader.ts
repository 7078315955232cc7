/** Reads a stream by counts of bytes, whatever the sizes of its chunks. */
export interface ByteReader {
  /** Returns the next chunk, which is not empty; null at the end. */
  next(): Promise<Buffer | null>
  /** Returns up to `count` bytes in one buffer; fewer only at the end. */
  take(count: number): Promise<Buffer>
  /** Yields the next `count` bytes as they arrive; fewer only at the end. */
  pass(count: number): AsyncGenerator<Buffer>
  /** Puts bytes back, to be read next. */
  unread(bytes: Buffer): void
}

export function readBytes(chunks: AsyncIterable<Buffer>): ByteReader {
  const source = chunks[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  async function next(): Promise<Buffer | null> {
    while (rest.length === 0) {
      const { done, value } = await source.next()
      if (done === true) return null
      rest = value
    }
    const chunk = rest
    rest = Buffer.alloc(0)
    return chunk
  }

  function unread(bytes: Buffer): void {
    rest = rest.length === 0 ? bytes : Buffer.concat([bytes, rest])
  }

  async function* pass(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      const chunk = await next()
      if (chunk === null) return
      if (chunk.length > left) unread(chunk.subarray(left))
      const part = chunk.subarray(0, left)
      left -= part.length
      yield part
    }
  }

  async function take(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of pass(count)) parts.push(part)
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  return { next, take, pass, unread }
}
