import type { FastifyRequest } from 'fastify'
import { MAX_LIMIT } from '../../lists/lists.ts'
import { bodyBytesOf } from '../request-body.ts'

/** A larger body makes a request one of another kind. */
const LARGE_BODY_BYTES = 64 * 1024

/**
 * Returns a name for requests that are expected to cost the same: those of one operation, with pages of about the same number
 * of rows, and with small or large bodies. A page of one row says nothing about one of a thousand.
 */
export function kindOfRequest({ method, query, raw, routeOptions }: FastifyRequest): string {
  const operation = `${method} ${routeOptions.url ?? ''}`
  const body = bodyBytesOf(raw) > LARGE_BODY_BYTES ? ' with a large body' : ''
  return operation + body + pageOf(query)
}

/** A client may name any number, but no page has more rows than the largest: each power of ten would be another kind. */
function pageOf(query: unknown): string {
  const limit = typeof query === 'object' && query !== null && 'limit' in query ? Number(query.limit) : NaN
  return limit >= 1 ? ` with pages of 10^${Math.ceil(Math.log10(Math.min(limit, MAX_LIMIT)))}` : ''
}
