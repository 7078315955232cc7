import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Dispatcher, errors, request } from 'undici'
import { fileNameOf, HEADER_BYTES, type ImageFile } from './image.ts'

export interface DownloadOptions {
  readonly dispatcher: Dispatcher
  readonly signal: AbortSignal
  /** 0 means no limit. */
  readonly bytesPerS: number
  /** Ends the download with an error at the first bytes. */
  readonly failing: boolean
  /** Called for each whole percent if the size is known. */
  onProgress(percent: number): void
}

/** A download that failed, worded as devices word it. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError'
}

/**
 * Reads the whole image over HTTP and hashes it without keeping it.
 *
 * @throws DownloadError for every failure, including an abort.
 */
export async function downloadImage(uri: string, options: DownloadOptions): Promise<ImageFile> {
  try {
    const { statusCode, headers, body } = await request(uri, options)
    if (statusCode !== 200) {
      await body.dump()
      throw new DownloadError(`curl_rc 22, http_code ${statusCode}`)
    }
    const size = Number(headers['content-length'] ?? 0)
    const disposition = headers['content-disposition']
    const image = await readBody(body, { ...options, size })
    return { ...image, fileName: fileNameOf(Array.isArray(disposition) ? disposition[0] : disposition) }
  } catch (error) {
    if (error instanceof DownloadError) throw error
    throw new DownloadError(`curl_rc ${curlCode(error)}, http_code 000`)
  }
}

interface ReadOptions extends DownloadOptions {
  /** The announced size in bytes; 0 if unknown. */
  readonly size: number
}

async function readBody(body: AsyncIterable<Buffer>, options: ReadOptions): Promise<Omit<ImageFile, 'fileName'>> {
  const hash = createHash('sha256')
  const startedMs = Date.now()
  let head = Buffer.alloc(0)
  let bytes = 0
  let percent = 0
  for await (const chunk of body) {
    if (options.failing) throw new DownloadError('curl_rc 18, http_code 200')
    hash.update(chunk)
    if (head.length < HEADER_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEADER_BYTES - head.length)])
    bytes += chunk.length
    const now = options.size === 0 ? 0 : Math.floor((100 * bytes) / options.size)
    if (now > percent) options.onProgress(now)
    percent = Math.max(percent, now)
    const aheadMs = options.bytesPerS === 0 ? 0 : (1000 * bytes) / options.bytesPerS - (Date.now() - startedMs)
    if (aheadMs > 0) await delay(aheadMs, undefined, { signal: options.signal })
  }
  if (bytes === 0) throw new DownloadError('curl_rc 52, http_code 200')
  return { head, sha256: hash.digest('hex') }
}

const untrusted: ReadonlySet<string> = new Set(['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN'])

/** Exit codes of curl: 3 bad address, 7 no connection, 18 incomplete, 28 too slow, 60 a certificate of another CA. */
function curlCode(error: unknown): number {
  if (error instanceof errors.InvalidArgumentError || error instanceof TypeError) return 3
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) return 28
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return 18
  if (error.code === 'ECONNREFUSED') return 7
  return untrusted.has(error.code) ? 60 : 18
}
