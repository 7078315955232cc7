import createClient, { type Client } from 'openapi-fetch'
import { createContext, use } from 'react'
import type { components, paths } from '#openapi'
import { completeAnswers } from './complete-answers.ts'
import { Problem, detailOf, isAwayStatus } from './problem.ts'
import type { Reachability } from './reachability.ts'
import type { PageSession } from './session.ts'
import type { LiveStream } from './stream.ts'

export type Schemas = components['schemas']
export type Api = Client<paths>

/** The interface of pages to the server: operations of the published document, and the live stream. */
export interface Server {
  readonly api: Api
  readonly stream: LiveStream
  readonly reachability: Reachability
  readonly session: PageSession
}

export const ServerContext = createContext<Server | null>(null)

export function useServer(): Server {
  const server = use(ServerContext)
  if (server === null) throw new Error('useServer() is outside of <ServerContext>')
  return server
}

const SAFE = new Set(['GET', 'HEAD'])

function schedule(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

interface ApiParts {
  readonly reachability: Reachability
  /** Returns the token that changes are sent with. */
  readonly token: () => string | null
}

/** Creates a client with the session of the browser. */
export function createApi({ reachability, token: readToken }: ApiParts): Api {
  const api = createClient<paths>({
    baseUrl: globalThis.location.origin,
    credentials: 'same-origin',
    fetch: completeAnswers({ send: (request) => fetch(request), schedule }),
  })
  api.use({
    onRequest({ request }) {
      const token = SAFE.has(request.method) ? null : readToken()
      if (token !== null) request.headers.set('x-csrftoken', token)
      return request
    },
    onResponse({ response }) {
      if (isAwayStatus(response.status)) reachability.suspect()
    },
    onError() {
      reachability.suspect()
    },
  })
  return api
}

interface Answer<Data> {
  readonly data?: Data
  readonly error?: unknown
  readonly response: Response
}

/** @throws Problem for any answer but a success. */
export async function answerOf<Data>(call: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    // It is no JSON, such as the page of a network that asks for a sign-in.
    throw cause instanceof Problem ? cause : new Problem(0, 'The answer of the server was incomplete.')
  })
  if (!response.ok || data === undefined || data === null)
    throw new Problem(response.status, detailOf(error, response.status), error)
  return data
}

/** Rows of one page, and how many there are on all. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

/** Returns a page of a list whose total is in a header. @throws Problem as answerOf(). */
export async function pageOf<Row>(call: Promise<Answer<readonly Row[]>>): Promise<Page<Row>> {
  const rows = await answerOf(call)
  const { response } = await call
  return { rows, total: Number(response.headers.get('x-page-total') ?? rows.length) }
}

/** Reads all pages of a list, from page 1 on. @throws Problem as answerOf(). */
export async function allPagesOf<Row>(read: (page: number) => Promise<Page<Row>>): Promise<readonly Row[]> {
  const all: Row[] = []
  for (let page = 1, total = 1; all.length < total; page += 1) {
    const { rows, total: known } = await read(page)
    all.push(...rows)
    total = rows.length === 0 ? 0 : known
  }
  return all
}
