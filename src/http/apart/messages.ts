import type { Caller } from '../../access/authorize.ts'
import { AppError, type ErrorCode, TextError } from '../../platform/errors.ts'

/** A request that another process answers, as it is copied to that process. */
export interface ApartRequest {
  /** The id of its operation. */
  readonly operation: string
  /** Requests of an account and of one kind are expected to cost the same; see kindOfRequest(). */
  readonly kind: string
  readonly caller: Caller
  /** Path parameters and query, as the operation's schema has accepted them. */
  readonly params: unknown
  readonly query: unknown
  /** Path and query, as the client sent them. */
  readonly url: string
  /** The body as it has arrived; null without one. */
  readonly body: Uint8Array | null
  /** See FairTurns. */
  readonly isHeavy: boolean
}

/** JSON, and the headers that the operation has set. */
export interface ApartAnswer {
  readonly headers: Readonly<Record<string, string | number>>
  readonly text: string | Uint8Array
}

/** An AppError, which does not pass between processes as such. */
export interface ApartRefusal {
  readonly code: ErrorCode
  readonly detail: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly retryAfterS: number | null
  /** True for a TextError. */
  readonly isText: boolean
}

export function refusalOf(error: AppError): ApartRefusal {
  const { code, message, fields, retryAfterS } = error
  return { code, detail: message, fields, retryAfterS, isText: error instanceof TextError }
}

/** Returns the error whose refusal this is. */
export function errorOfRefusal({ code, detail, fields, retryAfterS, isText }: ApartRefusal): AppError {
  return isText ? new TextError(detail) : new AppError(code, detail, fields, retryAfterS)
}

/** The end of a request in the other process; a `defect` is an error that is not a refusal. */
export type ApartEnd = (
  | { readonly answer: ApartAnswer }
  | { readonly refusal: ApartRefusal }
  | { readonly defect: Error }
) & {
  /** The processor time that it took there; an estimate if the process has ended. */
  readonly cpuMs: number
}

/** The request needs rows that another transaction has locked; it has changed nothing, and may run once more. */
export interface ApartLocked {
  readonly isLocked: true
  readonly cpuMs: number
}

/** The operations that another process can run, and how to have it run them. */
export interface Apart {
  /** Ids of operations. */
  readonly operations: ReadonlySet<string>
  /**
   * If the process ends before it has answered, the request is refused as unavailable; as rate_limited, if too many wait.
   * @param assertWanted Called each time before the request begins; throws an AppError if nobody needs the answer any more.
   */
  run(request: ApartRequest, assertWanted?: () => void): Promise<ApartEnd>
}
