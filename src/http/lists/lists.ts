import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { named } from '../schemas.ts'

/** Query of every list. Zero means the default: clients send it for "not set". */
export const pageQuery = {
  limit: Type.Optional(
    named(
      'limit',
      Type.Integer({
        minimum: 0,
        // Longer numbers are not read from a query.
        maximum: 999_999_999_999_999,
        default: 100,
        description: 'rows of a page; more than 1000 count as 1000, and 0 as the default',
      }),
    ),
  ),
  page: Type.Optional(
    named('page', Type.Integer({ minimum: 0, maximum: 1_000_000, default: 1, description: 'counted from 1' })),
  ),
}

/** Headers of every list's answer. */
export const pageHeaders = {
  'X-Page-Total': Type.Integer({ description: 'rows on all pages' }),
  'X-Page-Limit': Type.Integer({ description: 'rows of a page: the requested number, or fewer if they might not fit' }),
  'X-Page-Page': Type.Integer({ description: 'number of this page, counted from 1' }),
  Link: Type.Optional(Type.String({ description: 'path of the next page, with `rel="next"`' })),
}

export interface Page {
  /** The number of rows that the client requests; a list of large rows has fewer on each page. */
  readonly limit: number
  /** From 1. */
  readonly page: number
}

/** The rows of one page. */
export interface Paged<T> {
  readonly rows: readonly T[]
  /** The number of rows on all pages. */
  readonly total: number
  /** The number of rows on each page but the last: as requested, or fewer if the requested number might not fit. */
  readonly limit: number
}

/** Presents the page as the body of the answer. */
export function presentPage<T, R>({ rows, ...whole }: Paged<T>, present: (row: T) => R): Paged<R> {
  return { rows: rows.map((row) => present(row)), ...whole }
}

const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000

export function parsePage(query: { readonly limit?: number; readonly page?: number }): Page {
  return { limit: Math.min(query.limit || DEFAULT_LIMIT, MAX_LIMIT), page: query.page || 1 }
}

/** Sets the headers by which the interface's clients find the next page, and the standard one. */
export function setPageHeaders(
  reply: FastifyReply,
  { page }: Page,
  { limit, total }: Omit<Paged<unknown>, 'rows'>,
): void {
  void reply.headers({ 'x-page-total': total, 'x-page-limit': limit, 'x-page-page': page })
  if (limit * page < total) void reply.header('link', `<${nextPage(reply.request.url, { limit, page })}>; rel="next"`)
}

/**
 * Returns the same path and query with the next page, which clients follow unchanged.
 * @param also Parameters that replace those of this page.
 */
export function nextPage(url: string, { limit, page }: Page, also: Readonly<Record<string, string>> = {}): string {
  const [path = '', query = ''] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(also)) parameters.set(name, value)
  parameters.set('limit', String(limit))
  parameters.set('page', String(page + 1))
  return `${path}?${parameters.toString()}`
}
