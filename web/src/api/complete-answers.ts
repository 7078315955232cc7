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

/** Returns false for a request that only reads, signs in or is a dry run. */
async function mayChangeAnything(request: Request): Promise<boolean> {
  if (request.method === 'GET' || SIGN_IN.test(new URL(request.url).pathname)) return false
  // Files are not read into memory.
  if (request.headers.get('content-type') !== 'application/json') return true
  const body: unknown = await request.clone().json()
  return Reflect.get(Object(body), 'dry_run') !== true
}

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
    const mayChange = mayChangeAnything(request)
    const limit = new AbortController()
    let why = detailOf(null, 0)
    const cancel = schedule(() => {
      why = LATE
      limit.abort()
    }, LIMIT_MS)
    try {
      const answer = await send(new Request(request, { signal: AbortSignal.any([request.signal, limit.signal]) }))
      const { status } = answer
      if (LOST_BEHIND_PROXY.has(status) && (await mayChange))
        throw new Problem(status, `${detailOf(null, status)} ${OPEN_END}`)
      why = INCOMPLETE
      return new Response(answer.body === null ? null : await answer.arrayBuffer(), answer)
    } catch (error) {
      throw error instanceof Problem ? error : new Problem(0, (await mayChange) ? `${why} ${OPEN_END}` : why)
    } finally {
      cancel()
    }
  }
}
