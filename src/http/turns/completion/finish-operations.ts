import type { FastifyInstance } from 'fastify'
import { type OpenWork, createOpenWork } from './open-work.ts'
import { assertStays, noteOperation } from './request-end.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Everything that runs for requests. A stop waits for it. */
    openWork: OpenWork
  }
}

/** How long a stop waits for operations whose clients have left, if closeHttp() leaves it that much time. */
const OPERATIONS_MS = 5000

/**
 * Closes the server within the time. Requests that were read before begin first, because the server refuses those that begin
 * later. Clients that wait for answers have the first part of the time, and then their connections are closed. Operations whose
 * clients have left have the rest.
 */
export async function closeHttp(http: FastifyInstance, withinMs: number): Promise<void> {
  http.openWork.endWithin(withinMs)
  http.beginWaiting()
  const clientsMs = Math.max(withinMs - OPERATIONS_MS, withinMs / 2)
  const timer = setTimeout(() => http.server.closeAllConnections(), clientsMs)
  await http.close().finally(() => clearTimeout(timer))
}

/**
 * Lets no operation begin whose client has left, and lets a stop wait for those that run: they use the database, which is
 * closed next.
 */
export function finishOperations(http: FastifyInstance): void {
  http.decorate('openWork', createOpenWork())
  http.addHook('onRoute', (route) => {
    const { handler } = route
    route.handler = function run(request, reply) {
      assertStays(reply.raw)
      const operation: unknown = handler.call(this, request, reply)
      if (operation instanceof Promise) {
        noteOperation(reply.raw, operation)
        http.openWork.add(operation)
      }
      return operation
    }
  })
  // Fastify closes the server first, so only operations without a client are left.
  http.addHook('onClose', async () => {
    const left = await http.openWork.settle(OPERATIONS_MS)
    if (left > 0) http.log.warn({ operations: left }, 'the stop interrupts operations whose clients have left')
  })
}
