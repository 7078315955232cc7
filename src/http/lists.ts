import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'

/** Query of every list. Zero means the default: clients send it for "not set". */
export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 0, default: 100, description: 'at most 1000' })),
  page: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 1 })),
}

export interface Page {
  readonly limit: number
  readonly offset: number
  readonly page: number
}

/** One page's rows and how many there are on all pages. */
export interface Paged<T> {
  readonly rows: readonly T[]
  readonly total: number
}

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000

export function parsePage(query: { readonly limit?: number; readonly page?: number }): Page {
  const limit = Math.min(query.limit || DEFAULT_LIMIT, MAX_LIMIT)
  const page = query.page || 1
  return { limit, page, offset: (page - 1) * limit }
}

/** The headers by which the interface's clients find the next page. */
export function setPageHeaders(reply: FastifyReply, page: Page, total: number): void {
  void reply.headers({ 'x-page-total': total, 'x-page-limit': page.limit, 'x-page-page': page.page })
}
