import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { type Dispatcher, errors, request } from 'undici'
import { CommandError } from './exit-codes.ts'
import { messageOf } from '../platform/message-of.ts'

export interface SentFile {
  readonly path: string
  readonly sizeBytes: number
  /** Called with the number of bytes that have been sent. */
  readonly onProgress?: (sentBytes: number) => void
}

/**
 * Sends a file of any size, piece by piece, as the body of a request.
 * @throws CommandError usage if the file can't be read, or no longer has its size; Error if the connection fails.
 */
export async function sendFile(
  url: string,
  { path, sizeBytes, onProgress }: SentFile,
  { headers, dispatcher }: { readonly headers: Readonly<Record<string, string>>; readonly dispatcher: Dispatcher },
): Promise<{ readonly status: number; readonly text: string }> {
  const type = { 'content-type': 'application/octet-stream', 'content-length': String(sizeBytes) }
  let [sentBytes, unreadable] = [0, null as Error | null]
  async function* chunks(): AsyncGenerator<Buffer> {
    const file = createReadStream(path).once('error', (error) => (unreadable = error))
    for await (const chunk of file as AsyncIterable<Buffer>) {
      sentBytes += chunk.length
      onProgress?.(sentBytes)
      yield chunk
    }
  }
  // The server answers after it has stored the file.
  const options = { method: 'POST', headers: { ...headers, ...type }, dispatcher, headersTimeout: 0 } as const
  try {
    const answer = await request(url, { ...options, body: Readable.from(chunks()) })
    return { status: answer.statusCode, text: await answer.body.text() }
  } catch (error) {
    if (unreadable !== null) throw cannotRead(path, unreadable)
    if (error instanceof errors.RequestContentLengthMismatchError)
      throw new CommandError('usage', `${path} no longer has ${sizeBytes} bytes: it has been changed`)
    throw error
  }
}

/** Returns the SHA-256 of a file in lower-case hex. @throws CommandError usage if it can't be read. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  } catch (error) {
    throw cannotRead(path, error)
  }
  return hash.digest('hex')
}

function cannotRead(path: string, error: unknown): CommandError {
  return new CommandError('usage', `${path} can't be read: ${messageOf(error)}`)
}
