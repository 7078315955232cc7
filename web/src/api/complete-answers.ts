import { Problem } from './problem.ts'

/** More than any operation takes while the server has much to do. */
const LIMIT_MS = 60_000

const NO_ANSWER = 'The server does not answer.'
const LATE = 'The server has not answered within a minute.'
const INCOMPLETE = 'The answer of the server was incomplete.'
/** Nobody knows whether the server has got the request. */
const OPEN_END = 'The change may have been made: look before you repeat it.'

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
    const problem = (why: string): Problem => new Problem(0, request.method === 'GET' ? why : `${why} ${OPEN_END}`)
    const limit = new AbortController()
    const cancel = schedule(() => limit.abort(problem(LATE)), LIMIT_MS)
    let why = NO_ANSWER
    try {
      const answer = await send(new Request(request, { signal: AbortSignal.any([request.signal, limit.signal]) }))
      why = INCOMPLETE
      return new Response(answer.body === null ? null : await answer.arrayBuffer(), answer)
    } catch (error) {
      throw error instanceof Problem ? error : problem(why)
    } finally {
      cancel()
    }
  }
}
