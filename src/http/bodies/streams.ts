import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { allowLongBody } from './body-limits.ts'

/** A client that sends nothing for this long counts as gone, whatever the state of its socket. */
const IDLE_MS = 60_000

/**
 * Makes the routes of this context accept a file as the body itself, whatever content type the client declares: the
 * body of such a request is a stream. Register it in a separate context.
 */
export function acceptStreams(http: FastifyInstance): void {
  const receiving = new Set<Readable>()
  // A stop does not wait for uploads: their clients see the interruption.
  http.addHook('preClose', async () => receiving.forEach((body) => body.destroy()))
  // The rest of a refused body is not worth reading.
  http.addHook('onError', async (_request, reply) => void reply.header('connection', 'close'))
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', ({ raw }, body, done) => {
    allowLongBody(raw)
    receiving.add(body)
    body.once('close', () => receiving.delete(body))
    raw.setTimeout(IDLE_MS)
    done(null, body)
  })
}
