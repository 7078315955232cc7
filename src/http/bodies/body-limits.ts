import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { hiddenProperty } from '../../platform/hidden-property.ts'

/**
 * For callers without authentication. Routes that need more, such as those for assertions of identity providers,
 * declare it.
 */
export const MAX_PUBLIC_BYTES = 16 * 1024
/** JSON of an authenticated caller; uploads have their own limits. */
export const MAX_JSON_BYTES = 1024 * 1024

/**
 * Allows JSON of 1 MiB for the routes of this context that are not `public`. They must authenticate before they read
 * it.
 */
export function acceptLargeBodies(http: FastifyInstance): void {
  http.addHook('onRoute', (route) => {
    if (route.config?.public !== true) route.bodyLimit ??= MAX_JSON_BYTES
  })
}

interface Deadline {
  readonly withinMs: number
  readonly timer: NodeJS.Timeout
}

const deadlines = hiddenProperty<IncomingMessage, Deadline>('deadline of the body')

/** Closes the connection unless the whole body has arrived in time. */
export function limitBodyTime(request: IncomingMessage, withinMs: number): void {
  startDeadline(request, withinMs)
  const end = (): void => allowLongBody(request)
  request.once('close', end).once('end', end)
}

function startDeadline(request: IncomingMessage, withinMs: number): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.destroy()
  }, withinMs)
  deadlines.set(request, { withinMs, timer })
}

/** Begins the time of the body when the request has waited: nobody reads it meanwhile. */
export async function waitBeforeBody(request: IncomingMessage, waited: Promise<void>): Promise<void> {
  const deadline = deadlines.get(request)
  clearTimeout(deadline?.timer)
  await waited.finally(() => {
    if (deadline !== undefined && !request.destroyed) startDeadline(request, deadline.withinMs)
  })
}

/** Lifts the time limit of a body for an upload. The server closes its connection only if it stalls. */
export function allowLongBody(request: IncomingMessage): void {
  clearTimeout(deadlines.get(request)?.timer)
}
