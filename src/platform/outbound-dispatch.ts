import type { Dispatcher } from 'undici'
import type { Deadlines } from './deadlines.ts'

/** A request to a host whose name is resolved. */
export interface DispatchRequest {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
  /** On the clock of `performance.now()`. */
  readonly endMs: number
  readonly signal: AbortSignal | undefined
}

/** `failed` with null: there was no answer in time. */
export type DispatchResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Readonly<Record<string, string | readonly string[]>>
      readonly body: Buffer
    }
  | { readonly kind: 'failed'; readonly error: Error | null }
  | { readonly kind: 'aborted' }

const MAX_ANSWER_BYTES = 16 * 1024
/** The status is the answer; its body is worth no longer wait. */
const BODY_WITHIN_MS = 1000

/**
 * Sends a request and reads the start of its answer. It uses the dispatcher itself, with one listener of the signal and no
 * stream: for a small request those cost twice as much as the rest.
 */
export function dispatchOnce(
  agent: Dispatcher,
  deadlines: Deadlines,
  request: DispatchRequest,
): Promise<DispatchResult> {
  const { url, method, headers, body, endMs, signal } = request
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    let answer: { readonly status: number; readonly headers: Record<string, string | readonly string[]> } | null = null
    let controller: Dispatcher.DispatchController | null = null
    let ended = false
    let cancelDeadline = deadlines.add(endMs - performance.now(), () => cut({ kind: 'failed', error: null }))

    function end(result: DispatchResult): void {
      if (ended) return
      ended = true
      cancelDeadline()
      signal?.removeEventListener('abort', abort)
      resolve(answer === null ? result : { kind: 'answer', ...answer, body: Buffer.concat(parts) })
    }

    /** A request that waits for its connection is aborted as soon as it has one. */
    function cut(result: DispatchResult): void {
      end(result)
      controller?.abort(new Error('the request was cut'))
    }

    function abort(): void {
      cut({ kind: 'aborted' })
    }

    if (signal?.aborted === true) {
      end({ kind: 'aborted' })
      return
    }
    signal?.addEventListener('abort', abort, { once: true })
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (ended) started.abort(new Error('the request was cut'))
      },
      onResponseStart(_controller, status, received) {
        if (status < 200) return
        answer = { status, headers: definedOf(received) }
        cancelDeadline()
        const leftMs = Math.min(endMs - performance.now(), BODY_WITHIN_MS)
        cancelDeadline = deadlines.add(leftMs, () => cut({ kind: 'failed', error: null }))
      },
      onResponseData(_controller, part) {
        // The parser uses the memory of a part again.
        parts.push(Buffer.from(part.subarray(0, MAX_ANSWER_BYTES - size)))
        size += part.length
        if (size >= MAX_ANSWER_BYTES) cut({ kind: 'failed', error: null })
      },
      onResponseEnd: () => end({ kind: 'failed', error: null }),
      onResponseError: (_controller, error) => end({ kind: 'failed', error }),
    }
    agent.dispatch({ origin: url.origin, path: url.pathname + url.search, method, headers, body }, handler)
  })
}

function definedOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | readonly string[]> {
  const defined: Record<string, string | readonly string[]> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) defined[name] = value
  return defined
}
