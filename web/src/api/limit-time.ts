import { Problem } from './problem.ts'

/** More than any operation takes while the server has much to do. */
const LIMIT_MS = 60_000

const NO_ANSWER = 'The server has not answered within a minute.'
/** Nobody knows whether the server has got the request. */
const OPEN_END = `${NO_ANSWER} The change may have been made: look before you repeat it.`

interface LimitParts {
  readonly send: (request: Request) => Promise<Response>
  /** @returns A function that cancels it. */
  readonly schedule: (run: () => void, ms: number) => () => void
}

/** Returns a function that sends as `send` does. It gives up if the answer is not complete in time. @throws Problem if so. */
export function limitTime({ send, schedule }: LimitParts): LimitParts['send'] {
  return async (request) => {
    const limit = new AbortController()
    const giveUp = (): void => limit.abort(new Problem(0, request.method === 'GET' ? NO_ANSWER : OPEN_END))
    const cancel = schedule(giveUp, LIMIT_MS)
    try {
      const answer = await send(new Request(request, { signal: AbortSignal.any([request.signal, limit.signal]) }))
      if (answer.body === null) cancel()
      return new Response(answer.body?.pipeThrough(new TransformStream({ flush: cancel })), answer)
    } catch (error) {
      cancel()
      throw error
    }
  }
}
