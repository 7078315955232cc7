import type { Deadlines } from '../time/deadlines.ts'
import type { AnswerHead } from './answer-parser.ts'
import type { RequestSignal } from './cutter.ts'
import type { PlainRequest } from './encode-request.ts'
import type { Exchange } from './http-connection.ts'
import type { HttpConnections, RunningRequest } from './http-connections.ts'

/** A request to a host whose name is resolved. */
export interface DispatchRequest extends PlainRequest {
  /** On the clock of `performance.now()`. */
  readonly endMs: number
  readonly signal: RequestSignal | undefined
  /** True if it needs a new connection. */
  readonly isFresh: boolean
}

/** `failed` with null: there was no answer in time. */
export type DispatchResult =
  | (AnswerHead & {
      readonly kind: 'answer'
      readonly body: Buffer
      readonly remoteAddress: string | null
    })
  | { readonly kind: 'failed'; readonly error: Error | null; readonly remoteAddress: string | null }
  | { readonly kind: 'aborted' }

const MAX_ANSWER_BYTES = 16 * 1024
/** The status is the answer; its body is worth no longer wait. */
const BODY_WITHIN_MS = 1000
const noBody = Buffer.alloc(0)

/** Sends a request and reads the start of its answer. */
export function dispatchOnce(
  connections: HttpConnections,
  deadlines: Deadlines,
  request: DispatchRequest,
): Promise<DispatchResult> {
  const { endMs, signal } = request
  return new Promise((resolve) => {
    let body: Buffer = noBody
    let bodyBytes = 0
    let answer: AnswerHead | null = null
    let running: RunningRequest | null = null
    let ended = false
    let isPartly = false
    let cancelDeadline = deadlines.add(endMs - performance.now(), () => cut(null))

    function end(error: Error | null, isAborted = false): void {
      if (ended) return
      ended = true
      cancelDeadline()
      signal?.removeEventListener('abort', abort)
      const remoteAddress = running?.remoteAddress() ?? null
      if (answer !== null) resolve({ kind: 'answer', ...answer, body: body.subarray(0, bodyBytes), remoteAddress })
      else resolve(isAborted ? { kind: 'aborted' } : { kind: 'failed', error, remoteAddress })
    }

    function cut(error: Error | null, isAborted = false): void {
      end(error, isAborted)
      running?.cut()
    }

    function abort(): void {
      cut(null, true)
    }

    const exchange: Exchange = {
      onHead(head) {
        answer = head
      },
      onBody(part) {
        if (ended) return
        const bytes = Math.min(bodyBytes + part.length, MAX_ANSWER_BYTES)
        // A body may come in thousands of parts: each must not copy those before it.
        if (bytes > body.length) body = grown(body, bytes)
        part.copy(body, bodyBytes, 0, bytes - bodyBytes)
        bodyBytes = bytes
        if (bytes === MAX_ANSWER_BYTES) cut(null)
      },
      onPartly() {
        if (ended || isPartly) return
        isPartly = true
        cancelDeadline()
        cancelDeadline = deadlines.add(Math.min(endMs - performance.now(), BODY_WITHIN_MS), () => cut(null))
      },
      onEnd: () => end(null),
      onError: end,
    }
    if (signal?.aborted === true) {
      end(null, true)
      return
    }
    signal?.addEventListener('abort', abort)
    try {
      running = connections.send(request, exchange, request.isFresh)
    } catch (error) {
      end(error instanceof Error ? error : new Error(String(error)))
    }
  })
}

/** Returns a larger buffer with the same content. The first one is as large as needed, because most bodies have one part. */
function grown(body: Buffer, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(body.length === 0 ? bytes : Math.min(MAX_ANSWER_BYTES, 2 * bytes))
  body.copy(larger)
  return larger
}
