import type { FastifyInstance } from 'fastify'
import { decodeText, parseJsonBody } from './body.ts'

/** Lets routes of this context take JSON bodies. */
export function takeJson(http: FastifyInstance): void {
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    try {
      done(null, parseJsonBody(decodeText(bytes)))
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  })
}
