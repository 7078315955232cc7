import type { FastifyInstance } from 'fastify'
import { decodeText, parseJsonBody } from './body.ts'

/** Makes routes of this context accept JSON bodies. */
export function takeJson(http: FastifyInstance): void {
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    try {
      done(null, parseJsonBody(decodeText(bytes)))
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  })
}
