import type { FastifyInstance } from 'fastify'
import { decodeText, parseJsonBody } from './body.ts'
import { UnparsedBody } from './unparsed-body.ts'

/** Makes routes of this context accept JSON bodies. Those of requests that run in another process stay unparsed. */
export function acceptJson(http: FastifyInstance): void {
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      if (request.runsApart) return done(null, new UnparsedBody(typeof bytes === 'string' ? Buffer.from(bytes) : bytes))
      done(null, parseJsonBody(decodeText(bytes)))
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  })
}
