export type ErrorCode =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'rate_limited'
  | 'unavailable'

/** An outcome the caller can act on. Anything else that is thrown is a defect and answers 500. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  /** Further members of the answer's body besides `detail`, in wire shape. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Of rate_limited: whole seconds after which another try makes sense. */
  readonly retryAfterS: number | null
  constructor(
    code: ErrorCode,
    message: string,
    fields: Readonly<Record<string, unknown>> = {},
    retryAfterS: number | null = null,
  ) {
    super(message)
    this.code = code
    this.fields = fields
    this.retryAfterS = retryAfterS
  }
}

/** @param why A sentence, after the words that clients know. */
export function tooManyRequests(why: string, retryAfterS: number): AppError {
  return new AppError('rate_limited', `Too Many Request. ${why}`, {}, retryAfterS)
}

/** Foreign and unknown ids answer the same. Text as the interface's clients know it. */
export function notFound(id: string): AppError {
  return new AppError('not_found', 'Not found.', { id })
}

/** A value of the request that can't be used; `field` is its path on the wire. */
export function invalidField(field: string, why: string): AppError {
  return new AppError('invalid', `invalid field: ${field}`, { reason: why })
}
