import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** Of whoever the server does not know. Routes that need more, such as assertions of identity providers, say so. */
export const MAX_PUBLIC_BYTES = 16 * 1024
/** JSON of a caller who has been authenticated; uploads have limits of their own. */
export const MAX_JSON_BYTES = 1024 * 1024

/** Lets the routes of this context that are not `public` take JSON of 1 MiB. They must authenticate before they read it. */
export function takeLargeBodies(http: FastifyInstance): void {
  http.addHook('onRoute', (route) => {
    if (route.config?.public !== true) route.bodyLimit ??= MAX_JSON_BYTES
  })
}

const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/** Closes the connection unless the whole body has arrived in time. */
export function limitBodyTime(request: IncomingMessage, withinMs: number): void {
  const deadline = setTimeout(() => {
    if (!request.complete) request.destroy()
  }, withinMs)
  deadlines.set(request, deadline)
  const end = (): void => clearTimeout(deadline)
  request.once('close', end).once('end', end)
}

/** Lets an upload take its time. The server closes its connection only where nothing moves. */
export function allowLongBody(request: IncomingMessage): void {
  clearTimeout(deadlines.get(request))
}
