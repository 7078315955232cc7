import type { FastifyInstance } from 'fastify'
import { parseJsonBody } from './body.ts'

/** Lets routes of this context take JSON bodies. */
export function takeJson(http: FastifyInstance): void {
  http.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, parseJsonBody(String(text)))
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  })
}
