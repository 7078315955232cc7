/** Why a call failed: a refusal of the server, or no answer at all. */
export class Problem extends Error {
  override readonly name = 'Problem'
  /** 0 where the server did not answer. */
  readonly status: number
  /** The body of the answer, where there was one. */
  readonly body: unknown

  constructor(status: number, detail: string, body: unknown = null) {
    super(detail)
    this.status = status
    this.body = body
  }

  get isAway(): boolean {
    return isAwayStatus(this.status)
  }
}

/** True if what a page is about does not exist, or not any more. */
export function isMissing(error: Error | null): boolean {
  return error instanceof Problem && error.status === 404
}

/** A reverse proxy answers for a server that is away. */
export function isAwayStatus(status: number): boolean {
  return status === 0 || status === 502 || status === 503 || status === 504
}

/** The words of the server for programs whose session is missing or another one. People read them after they have signed in again. */
const sessionWords: ReadonlyMap<string, string> = new Map([
  ['Authentication credentials were not provided.', 'Your session had ended, and nothing was changed. Try again.'],
  [
    'CSRF Failed: CSRF token missing or incorrect.',
    'Your session was another one, and nothing was changed. Try again.',
  ],
])

/** Returns the words of the server; its `detail` is written for people, and names the field. */
export function detailOf(body: unknown, status: number): string {
  if (typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string')
    return sessionWords.get(body.detail) ?? body.detail
  return status === 0 ? 'The server does not answer.' : `The server answered ${status}.`
}

/** Returns the field that a refusal names, without its place in a list; null if it names none. */
export function fieldIn(detail: string): string | null {
  return fieldPathIn(detail)?.split('.', 1)[0] ?? null
}

/** Returns the path of the field that a refusal names, such as `password_policy.min_length`; null if it names none. */
export function fieldPathIn(detail: string): string | null {
  return /^Invalid field (\w+(?:\.\w+)*)/.exec(detail)?.[1] ?? null
}
