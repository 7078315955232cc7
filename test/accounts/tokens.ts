import { expect } from 'vitest'
import type { Answer, TestOrg, TestServer } from '../support/servers/server.ts'

export interface Tokens {
  /** Creates a token with the password; a token does not replace it. */
  readonly create: (path: string, body: object, as?: TestOrg) => Promise<Answer['body']>
  /** The holder of a key, for `as`. */
  readonly holder: (key: string) => TestOrg
}

export function tokensIn(server: () => TestServer): Tokens {
  return {
    async create(path, body, as = server().org) {
      const answer = await server().call('POST', path, { body: { password: as.password, ...body }, as })
      expect(answer).toMatchObject({ status: 200 })
      return answer.body
    },
    holder: (key) => ({ ...server().org, token: key }),
  }
}
