import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { rootCertificates } from 'node:tls'
import { RefusedError, TransportError, isPassingStatus, retryAfterMsOf, transportErrorOf } from './transport.ts'

export interface PartRequest {
  readonly url: URL
  /** PEM of the CAs that are trusted besides the public ones. */
  readonly ca: readonly string[]
  /** The first requested byte. */
  readonly offset: number
  /** The tag of the file with the bytes before `offset`; null: unknown, so the whole file is requested. */
  readonly etag: string | null
  /** The size of the whole file. */
  readonly size: number
  /** The longest time in which the server may send less than `MIN_BYTES`. */
  readonly stallMs: number
  readonly signal: AbortSignal
}

export interface Part {
  /** The start of the part: the requested offset, or 0. */
  readonly offset: number
  /** Only a strong tag, which identifies the bytes. */
  readonly etag: string | null
  readonly body: AsyncIterable<Buffer>
}

/** A server that sends less within `stallMs` counts as stalled, and an attempt that brings less as fruitless. */
export const MIN_BYTES = 65_536

/**
 * Requests a file from an offset on.
 * @throws TransportError; RefusedError with the reason where another attempt would fail as well. So does `body`.
 */
export async function requestPart(part: PartRequest): Promise<Part> {
  const watch = watchStall(part)
  try {
    const response = await send(part, watch.signal)
    const { offset, etag } = checkAnswer(response, part)
    return { offset, etag, body: read(response, watch) }
  } catch (error) {
    watch.end()
    throw watch.explain(error)
  }
}

async function* read(response: IncomingMessage, watch: StallWatch): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      watch.count(chunk.length)
      yield chunk
    }
  } catch (error) {
    throw watch.explain(error)
  } finally {
    watch.end()
    response.destroy()
  }
}

function send({ url, ca, offset, etag }: PartRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const range = offset > 0 && etag !== null ? { range: `bytes=${offset}-`, 'if-range': etag } : {}
  const options = { headers: { 'accept-encoding': 'identity', ...range }, agent: false, signal } as const
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, ca: [...rootCertificates, ...ca] }, resolve)
        : httpRequest(url, options, resolve)
    request.on('error', reject)
    request.end()
  })
}

/** @throws TransportError; RefusedError. */
function checkAnswer(response: IncomingMessage, { offset, size }: PartRequest): Pick<Part, 'offset' | 'etag'> {
  const { statusCode: status = 0, headers } = response
  try {
    if (isPassingStatus(status)) throw new TransportError(`The server answered ${status}`, retryAfterMsOf(headers))
    // The signed address is the only proof of the permission to download, so redirects are not followed.
    if (status >= 300 && status < 400) throw new RefusedError('The server redirects, which the agent does not follow')
    if (status !== 200 && status !== 206) throw new RefusedError(`The server answered ${status}`)
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new RefusedError('The server encodes the file')
    const begin = status === 200 ? 0 : offset
    if (status === 206 && headers['content-range'] !== `bytes ${offset}-${size - 1}/${size}`)
      throw new RefusedError(`The server sends ${headers['content-range']}, not bytes ${offset}-${size - 1}/${size}`)
    const { 'content-length': length } = headers
    if (length !== undefined && Number(length) !== size - begin)
      throw new RefusedError(`The server sends ${length} bytes, not ${size - begin}`)
    return { offset: begin, etag: strongTag(headers.etag) }
  } catch (error) {
    response.destroy()
    throw error
  }
}

/** A weak tag (`W/...`) does not guarantee that the bytes are the same. */
function strongTag(etag: string | undefined): string | null {
  return etag !== undefined && /^"[^"]{1,200}"$/.test(etag) ? etag : null
}

interface StallWatch {
  readonly signal: AbortSignal
  count(bytes: number): void
  /** Returns the error to throw for one that the connection had. */
  explain(error: unknown): unknown
  end(): void
}

/** Aborts the request when the server sends too little, and when the agent stops. */
function watchStall({ stallMs, signal }: Pick<PartRequest, 'stallMs' | 'signal'>): StallWatch {
  const stalled = new AbortController()
  const begin = () => setTimeout(() => stalled.abort(), stallMs)
  let timer = begin()
  let bytesSince = 0
  return {
    signal: AbortSignal.any([signal, stalled.signal]),
    count(bytes) {
      bytesSince += bytes
      if (bytesSince < MIN_BYTES) return
      bytesSince = 0
      clearTimeout(timer)
      timer = begin()
    },
    explain(error) {
      if (stalled.signal.aborted) return new TransportError(`The server sent too little in ${stallMs / 1000} s`)
      // Those that checkAnswer() makes are final.
      return transportErrorOf(error)
    },
    end: () => clearTimeout(timer),
  }
}
