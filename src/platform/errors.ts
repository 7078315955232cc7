export type ErrorCode =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'outdated'
  | 'too_large'
  | 'unsupported'
  | 'rate_limited'
  | 'unavailable'

/** No sentence of ours has as many characters: the longest ones list the values that a parameter may have. */
const MAX_SENTENCE = 1500
/** How many characters remain at either end of a longer sentence. */
const SHOWN = 200

/** Cuts a sentence that is so long because it repeats a value of the request. Its end says what is wrong with the value. */
export function shortSentence(text: string): string {
  if (text.length <= MAX_SENTENCE) return text
  return `${text.slice(0, SHOWN)}…${text.slice(-SHOWN)}`.toWellFormed()
}

/** An outcome that the caller can act on. Any other thrown error is a defect and answers 500. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  /** Members of the answer's body besides `detail`, in wire shape. */
  readonly fields: Readonly<Record<string, unknown>>
  /** For rate_limited and unavailable: whole seconds after which another attempt makes sense. */
  readonly retryAfterS: number | null
  constructor(
    code: ErrorCode,
    message: string,
    fields: Readonly<Record<string, unknown>> = {},
    retryAfterS: number | null = null,
  ) {
    super(shortSentence(message))
    this.code = code
    this.fields = fields
    this.retryAfterS = retryAfterS
  }
}

/** A refusal whose whole body is its text, as a JSON string. Clients of a few operations compare that text. */
export class TextError extends AppError {
  constructor(message: string) {
    super('invalid', message)
  }
}

/** @param why A sentence that follows the words that clients know. */
export function tooManyRequests(why: string, retryAfterS: number): AppError {
  return new AppError('rate_limited', `Too Many Request. ${why}`, {}, retryAfterS)
}

/** Foreign and unknown ids answer the same. The text is the one that the interface's clients know. */
export function notFound(id: string): AppError {
  return new AppError('not_found', 'Not found.', { id })
}

/**
 * An unusable value of the request. The text names the field and the cause, because some clients show nothing else;
 * `reason` repeats the cause for clients that read it.
 * @param field Its path on the wire.
 * @param why Continues "Invalid field NAME: ".
 */
export function invalidField(field: string, why: string, code: ErrorCode = 'invalid'): AppError {
  return new AppError(code, `Invalid field ${field}: ${why}`, { reason: shortSentence(why) })
}
