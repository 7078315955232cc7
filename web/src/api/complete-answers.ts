import { Problem, detailOf } from './problem.ts'

/** More than any operation takes while the server has much to do. */
const LIMIT_MS = 60_000

const LATE = 'The server has not answered within a minute.'
const INCOMPLETE = 'The answer of the server was incomplete.'
/** Nobody knows whether the server has got the request. */
const OPEN_END = 'The change may have been made: look before you repeat it.'

/** A reverse proxy answers so if it has lost the server, or waits no longer. */
const LOST_BEHIND_PROXY = new Set([502, 504])

/** Repeating a sign-in does no harm, and a person who is not signed in has nothing to look at. */
const SIGN_IN = /^\/api\/v1\/login(?:$|\/)/

interface LimitParts {
  readonly send: (request: Request) => Promise<Response>
  /** @returns A function that cancels it. */
  readonly schedule: (run: () => void, ms: number) => () => void
}

/**
 * Returns a function that sends as `send` does, and waits for the whole answer. It gives up if that is not complete in time.
 * @throws Problem without a complete answer.
 */
export function completeAnswers({ send, schedule }: LimitParts): LimitParts['send'] {
  return async (request) => {
    const isRepeatable = request.method === 'GET' || SIGN_IN.test(new URL(request.url).pathname)
    const problem = (why: string, status = 0): Problem => new Problem(status, isRepeatable ? why : `${why} ${OPEN_END}`)
    const limit = new AbortController()
    const cancel = schedule(() => limit.abort(problem(LATE)), LIMIT_MS)
    let why = detailOf(null, 0)
    try {
      const answer = await send(new Request(request, { signal: AbortSignal.any([request.signal, limit.signal]) }))
      const { status } = answer
      if (LOST_BEHIND_PROXY.has(status) && !isRepeatable) throw problem(detailOf(null, status), status)
      why = INCOMPLETE
      return new Response(answer.body === null ? null : await answer.arrayBuffer(), answer)
    } catch (error) {
      throw error instanceof Problem ? error : problem(why)
    } finally {
      cancel()
    }
  }
}
