import type { Page } from './client.ts'
import { Problem, detailOf, isAwayStatus } from './problem.ts'
import type { Reachability } from './reachability.ts'

/** Calls operations of the operator, which are not in the published document. */
export interface OperatorApi {
  /** @param path Under /operator/v1. @throws Problem for any answer but a success. */
  get<Answer>(path: string): Promise<Answer>
  /** @throws Problem as get(). */
  post<Answer>(path: string, body?: object): Promise<Answer>
  /** Returns a page of a list whose total is in a header. @throws Problem as get(). */
  list(path: string): Promise<Page<unknown>>
}

/** @param key The text of `operator.key`. It is in the memory of the page alone, and in no cookie. */
export function createOperatorApi(key: string, reachability: Reachability): OperatorApi {
  async function call(path: string, sent?: Pick<RequestInit, 'method' | 'body'>): Promise<Response> {
    const isJson = sent?.body !== undefined
    const response = await fetch(`/operator/v1${path}`, {
      ...sent,
      headers: { authorization: `Operator ${key}`, ...(isJson && { 'content-type': 'application/json' }) },
      credentials: 'omit',
      cache: 'no-store',
    }).catch(() => null)
    if (response === null || isAwayStatus(response.status)) reachability.suspect()
    if (response === null) throw new Problem(0, detailOf(null, 0))
    if (response.ok) return response
    // A 401 means elsewhere that a session has ended.
    if (response.status === 401) throw new Problem(403, 'This is not the operator key of the service.')
    throw new Problem(response.status, detailOf(await response.json().catch(() => null), response.status))
  }
  return {
    async get<Answer>(path: string) {
      return (await (await call(path)).json()) as Answer
    },
    async post<Answer>(path: string, body?: object) {
      const json = body && { body: JSON.stringify(body) }
      return (await (await call(path, { method: 'POST', ...json })).json()) as Answer
    },
    async list(path) {
      const response = await call(path)
      const rows = (await response.json()) as readonly unknown[]
      return { rows, total: Number(response.headers.get('x-page-total') ?? rows.length) }
    },
  }
}
