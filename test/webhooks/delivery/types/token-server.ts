import { type ServerResponse, createServer } from 'node:http'
import { waitUntil } from '../../../support/wait-until.ts'
import { listen } from '../listen.ts'

interface TokenServerRequest {
  /** With the query. */
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly form: Record<string, string>
}

export interface TokenServer {
  readonly url: string
  readonly requests: TokenServerRequest[]
  /** The answer from now on: status and body. */
  answer: readonly [number, string]
  /** True while requests wait for release(). */
  isHolding: boolean
  /** Returns the number of requests that wait for their answer and whose connections are open. */
  waiting(): number
  /** Answers the requests that wait, and those that come later. */
  release(): void
  /** Waits until at least `count` requests have arrived. */
  waitFor(count: number): Promise<void>
}

/** Starts an authorization server that counts its tokens: `token-1`, `token-2`, ... It ends with the test. */
export async function startTokenServer(): Promise<TokenServer> {
  const requests: TokenServer['requests'] = []
  const held = new Map<ServerResponse, number>()
  const answerOne = (response: ServerResponse, number: number): void => {
    const [code, body] = tokenServer.answer
    response.writeHead(code, { 'content-type': 'application/json' }).end(body.replace('#', String(number)))
  }
  const http = createServer((request, response) => {
    let text = ''
    request.on('data', (part) => (text += String(part)))
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(text))
      const number = requests.push({ path: request.url, authorization: request.headers.authorization, form })
      if (!tokenServer.isHolding) {
        answerOne(response, number)
        return
      }
      held.set(response, number)
      response.on('close', () => held.delete(response))
    })
  })
  const port = await listen(http)
  const tokenServer: TokenServer = {
    url: `http://127.0.0.1:${port}/token`,
    requests,
    answer: [200, '{"access_token": "token-#", "token_type": "Bearer", "expires_in": 3600}'],
    isHolding: false,
    waiting: () => held.size,
    release() {
      tokenServer.isHolding = false
      for (const [response, number] of held) answerOne(response, number)
    },
    waitFor: async (count) => void (await waitUntil(`${count} requests for tokens`, () => requests.length >= count)),
  }
  return tokenServer
}
