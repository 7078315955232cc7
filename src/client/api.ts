import { rootCertificates } from 'node:tls'
import { Agent, type Response, fetch } from 'undici'
import { CommandError } from './exit-codes.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
export type JsonObject = Readonly<Record<string, Json>>

export interface Request {
  readonly method: string
  /** With the leading `/api/v1` and the encoded query. */
  readonly path: string
  readonly body?: Json
}

/** Calls the API of a server, as any other client does. */
export interface Api {
  readonly url: string
  /** @throws CommandError with the server's own text. */
  send(request: Request): Promise<{ readonly body: Json; readonly headers: Headers }>
  get(path: string): Promise<Json>
  post(path: string, body?: Json): Promise<Json>
  close(): Promise<void>
}

export interface ApiOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** PEM; trusted besides the public CAs. */
  readonly ca?: string
}

export function createApi({ url, headers, ca }: ApiOptions): Api {
  const base = parseUrl(url)
  const dispatcher = new Agent({ ...(ca !== undefined && { connect: { ca: [...rootCertificates, ca] } }) })
  const api: Api = {
    url: base,
    async send({ method, path, body }) {
      const json = body === undefined ? {} : { 'content-type': 'application/json' }
      const answer = await fetch(base + path, {
        method,
        headers: { ...headers, ...json },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        dispatcher,
      }).catch((error: unknown) => {
        throw new CommandError('unavailable', `${base} does not answer: ${causeOf(error)}`)
      })
      return { body: await parseAnswer(answer, `${method} ${path}`), headers: answer.headers }
    },
    get: async (path) => (await api.send({ method: 'GET', path })).body,
    post: async (path, body) => (await api.send({ method: 'POST', path, ...(body !== undefined && { body }) })).body,
    close: () => dispatcher.close(),
  }
  return api
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new CommandError(
      'usage',
      `${JSON.stringify(text)} is not an address of a server, such as https://nms.example.com`,
    )
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}

async function parseAnswer(answer: Response, what: string): Promise<Json> {
  const text = await answer.text()
  const body = parseJson(text)
  if (answer.ok) return body
  const outcome = answer.status === 401 ? 'signedOut' : answer.status >= 500 ? 'unavailable' : 'refused'
  const hint = outcome === 'signedOut' ? ' (signalbox login signs in)' : ''
  throw new CommandError(outcome, `${what}: ${answer.status} ${detailOf(body)}${hint}`)
}

function parseJson(text: string): Json {
  try {
    return text === '' ? {} : (JSON.parse(text) as Json)
  } catch {
    return text
  }
}

function detailOf(body: Json): string {
  const { detail } = objectOf(body)
  return typeof detail === 'string' ? detail : JSON.stringify(body)
}

/** Returns the fields of an answer; none for one that is no object. */
export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

/** Returns the objects of a list, or of the `results` of a search. */
export function rowsOf(value: Json): readonly JsonObject[] {
  const list = Array.isArray(value) ? (value as readonly Json[]) : objectOf(value)['results']
  return Array.isArray(list) ? list.map(objectOf) : []
}
