import type * as undici from 'undici'
import type { Dispatcher } from 'undici'
import type { Deadlines } from '../time/deadlines.ts'

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
      readonly remoteAddress: string | null
    }
  | { readonly kind: 'failed'; readonly error: Error | null; readonly remoteAddress: string | null }
  | { readonly kind: 'aborted' }

/** A handler that learns the address at the other end of its connection. */
interface TracingHandler extends Dispatcher.DispatchHandler {
  /** Returns the address; null before there is a connection. */
  remoteAddress: () => string | null
}

/**
 * Creates the client of one connection, which passes the address at the other end to the handlers of its requests.
 * @param options Those of a pool for its clients.
 */
export function createTracedClient(
  { Client }: typeof undici,
  origin: string | URL,
  { connect, ...options }: undici.Client.Options & { readonly connect: undici.buildConnector.connector },
): undici.Client {
  let address: string | null = null
  const client = new Client(origin, {
    ...options,
    connect(target, done) {
      address = null
      connect(target, (...[error, socket]) => {
        if (error !== null) return done(error, null)
        address = socket.remoteAddress ?? null
        done(null, socket)
      })
    },
  })
  const dispatch = client.dispatch.bind(client)
  client.dispatch = (request, handler) => {
    if ('remoteAddress' in handler) Object.assign(handler, { remoteAddress: () => address })
    return dispatch(request, handler)
  }
  return client
}

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
    let cancelDeadline = deadlines.add(endMs - performance.now(), () => cut({ error: null }))

    function end(result: 'aborted' | { readonly error: Error | null }): void {
      if (ended) return
      ended = true
      cancelDeadline()
      signal?.removeEventListener('abort', abort)
      const remoteAddress = handler.remoteAddress()
      if (answer !== null) resolve({ kind: 'answer', ...answer, body: Buffer.concat(parts), remoteAddress })
      else resolve(result === 'aborted' ? { kind: 'aborted' } : { kind: 'failed', ...result, remoteAddress })
    }

    /** A request that waits for its connection is aborted as soon as it has one. */
    function cut(result: Parameters<typeof end>[0]): void {
      end(result)
      controller?.abort(new Error('the request was cut'))
    }

    function abort(): void {
      cut('aborted')
    }

    const handler: TracingHandler = {
      remoteAddress: () => null,
      onRequestStart(started) {
        controller = started
        if (ended) started.abort(new Error('the request was cut'))
      },
      onResponseStart(_controller, status, received) {
        if (status < 200) return
        answer = { status, headers: definedOf(received) }
        cancelDeadline()
        const leftMs = Math.min(endMs - performance.now(), BODY_WITHIN_MS)
        cancelDeadline = deadlines.add(leftMs, () => cut({ error: null }))
      },
      onResponseData(_controller, part) {
        // The parser uses the memory of a part again.
        parts.push(Buffer.from(part.subarray(0, MAX_ANSWER_BYTES - size)))
        size += part.length
        if (size >= MAX_ANSWER_BYTES) cut({ error: null })
      },
      onResponseEnd: () => end({ error: null }),
      onResponseError: (_controller, error) => end({ error }),
    }
    if (signal?.aborted === true) {
      end('aborted')
      return
    }
    signal?.addEventListener('abort', abort, { once: true })
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
