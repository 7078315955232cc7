import type { CustomFetchOptions } from 'openid-client'
import { AppError } from '../../../platform/errors.ts'
import { isLoopbackUrl } from '../../../platform/outbound/loopback.ts'
import type { OutboundHttp } from '../../../platform/outbound/outbound-http.ts'
import { createDeadlines } from '../../../platform/time/deadlines.ts'
import { withinTime } from '../../../platform/time/within-time.ts'

/** Key sets and metadata take a few kilobytes. */
const MAX_ANSWER_BYTES = 512 * 1024

/** The time for a whole request, up to the last byte. */
const TIMEOUT_MS = 5000

export type FetchBounded = (url: string, options: CustomFetchOptions) => Promise<Response>

/**
 * Returns a function that fetches a URL that a provider's metadata names: only https, except on loopback, and never more
 * than MAX_ANSWER_BYTES. It throws AppError unavailable if there is no usable answer.
 */
export function createFetchBounded(http: OutboundHttp): FetchBounded {
  const deadlines = createDeadlines()
  return async (url, options) => {
    assertSecure(url)
    // The library's signal also counts the time in which the process did not run.
    const { method, headers } = options
    // The library sends only forms.
    const body = options.body instanceof URLSearchParams ? options.body : null
    let answer: Response
    try {
      answer = await withinTime({ deadlines, ms: TIMEOUT_MS }, async (signal) => {
        const given = await http.fetch(url, { method, headers, body, signal })
        const bytes = await readBounded(given.body)
        return new Response(bytes.length === 0 ? null : bytes, { status: given.status, headers: [...given.headers] })
      })
    } catch (error) {
      throw unavailable(error)
    }
    if (answer.status >= 500 || answer.status === 429) throw unavailable(`it answered ${answer.status}`)
    return answer
  }
}

/** @throws AppError unavailable for a URL without https: tokens and keys could be read and replaced on the way. */
export function assertSecure(url: string): void {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopbackUrl(parsed))) return
  throw unavailable(`it names ${url}, which is not https`)
}

export function unavailable(cause: unknown): AppError {
  const text = "The provider can't be reached now"
  const error = new AppError('unavailable', text, { error: 'temporarily_unavailable', error_description: text })
  error.cause = cause
  return error
}

async function readBounded(body: AsyncIterable<Uint8Array> | null): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body ?? []) {
    size += part.length
    if (size > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
