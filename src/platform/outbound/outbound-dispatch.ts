import type { Deadline, Deadlines, Expiring } from '../time/deadlines.ts'
import type { AnswerHead } from './answer-parser.ts'
import type { AbortListener, RequestSignal } from './cutter.ts'
import type { PlainRequest } from './encode-request.ts'
import { type Exchange, LostConnection } from './http-connection.ts'
import type { HttpConnections, RunningRequest } from './http-connections.ts'

/** A request to a host whose name is resolved. */
export interface DispatchRequest extends PlainRequest {
  /** On the clock of the deadlines. */
  readonly endMs: number
  readonly signal: RequestSignal | undefined
  /** True if the other side recognizes a request that it gets twice. */
  readonly mayArriveTwice: boolean
}

/** `failed` with null: there was no answer in time. */
export type DispatchResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: AnswerHead['headers']
      readonly body: Buffer
      readonly remoteAddress: string | null
    }
  | { readonly kind: 'failed'; readonly error: Error | null; readonly remoteAddress: string | null }
  | { readonly kind: 'aborted' }

interface Network {
  readonly connections: HttpConnections
  readonly deadlines: Deadlines
}

/** Sends a request and reads the start of its answer. @param onResult Called once, perhaps before this function returns. */
export function dispatch(network: Network, request: DispatchRequest, onResult: (result: DispatchResult) => void): void {
  new Dispatch(network, request, onResult).start()
}

const MAX_ANSWER_BYTES = 16 * 1024
/** The status is the answer; its body is worth no longer wait. */
const BODY_WITHIN_MS = 1000
const noBody = Buffer.alloc(0)

/** A single object for each request: closures for all that may happen to it would be a dozen. */
class Dispatch implements Exchange, Expiring, AbortListener {
  readonly #network: Network
  readonly #request: DispatchRequest
  readonly #onResult: (result: DispatchResult) => void
  #deadline: Deadline | null = null
  #running: RunningRequest | null = null
  #answer: AnswerHead | null = null
  #body: Buffer = noBody
  #bodyBytes = 0
  #isPartly = false
  #isRepeated = false
  #isOver = false

  constructor(network: Network, request: DispatchRequest, onResult: (result: DispatchResult) => void) {
    this.#network = network
    this.#request = request
    this.#onResult = onResult
  }

  start(): void {
    const { signal } = this.#request
    if (signal?.aborted === true) {
      this.#end(null, true)
      return
    }
    this.#deadline = this.#network.deadlines.add(this.#leftMs(), this)
    signal?.addEventListener('abort', this)
    this.#send()
  }

  onHead(head: AnswerHead): void {
    this.#answer = head
  }

  onBody(part: Buffer): void {
    if (this.#isOver) return
    const bytes = Math.min(this.#bodyBytes + part.length, MAX_ANSWER_BYTES)
    // A body may come in thousands of parts: each must not copy those before it.
    if (bytes > this.#body.length) this.#body = grown(this.#body, bytes)
    part.copy(this.#body, this.#bodyBytes, 0, bytes - this.#bodyBytes)
    this.#bodyBytes = bytes
    if (bytes === MAX_ANSWER_BYTES) this.#cut(false)
  }

  onPartly(): void {
    if (this.#isOver || this.#isPartly) return
    this.#isPartly = true
    this.#deadline?.cancel()
    this.#deadline = this.#network.deadlines.add(Math.min(this.#leftMs(), BODY_WITHIN_MS), this)
  }

  onEnd(): void {
    this.#end(null, false)
  }

  /**
   * The other side may close an idle connection just when a request is sent on it. That connection has delivered an answer
   * before, so a request that may arrive twice is sent once more.
   */
  onError(error: Error): void {
    const isLost = error instanceof LostConnection && error.wasReused && this.#request.mayArriveTwice
    if (isLost && !this.#isOver && !this.#isRepeated) {
      this.#isRepeated = true
      this.#send()
    } else {
      this.#end(error, false)
    }
  }

  /** There was no answer in time. */
  expire(): void {
    this.#cut(false)
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#cut(true)
  }

  #leftMs(): number {
    return this.#request.endMs - this.#network.deadlines.nowMs()
  }

  #send(): void {
    try {
      this.#running = this.#network.connections.send(this.#request, this, this.#isRepeated)
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)), false)
    }
  }

  #cut(isAborted: boolean): void {
    this.#end(null, isAborted)
    this.#running?.cut()
  }

  #end(error: Error | null, isAborted: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline?.cancel()
    this.#request.signal?.removeEventListener('abort', this)
    this.#onResult(this.#resultOf(error, isAborted))
  }

  #resultOf(error: Error | null, isAborted: boolean): DispatchResult {
    const remoteAddress = this.#running?.remoteAddress() ?? null
    if (this.#answer === null) return isAborted ? { kind: 'aborted' } : { kind: 'failed', error, remoteAddress }
    const { status, headers } = this.#answer
    const body = this.#bodyBytes === 0 ? noBody : this.#body.subarray(0, this.#bodyBytes)
    return { kind: 'answer', status, headers, body, remoteAddress }
  }
}

/** Returns a larger buffer with the same content. The first one is as large as needed, because most bodies have one part. */
function grown(body: Buffer, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(body.length === 0 ? bytes : Math.min(MAX_ANSWER_BYTES, 2 * bytes))
  body.copy(larger)
  return larger
}
