import { rootCertificates } from 'node:tls'
import { Agent, fetch } from 'undici'
import { WebSocket } from 'ws'
import { CommandError } from './exit-codes.ts'
import { type SentFile, sendFile } from './send-file.ts'

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
  /** Sends a file of any size, piece by piece. */
  upload(path: string, file: SentFile): Promise<Json>
  openSocket(path: string): WebSocket
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
  const trust = ca === undefined ? {} : { ca: [...rootCertificates, ca] }
  const dispatcher = new Agent({ connect: trust })
  const unavailable = (error: unknown): CommandError =>
    new CommandError('unavailable', `${base} does not answer: ${causeOf(error)}`)
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
        throw unavailable(error)
      })
      return { body: parseAnswer(answer.status, await answer.text(), `${method} ${path}`), headers: answer.headers }
    },
    get: async (path) => (await api.send({ method: 'GET', path })).body,
    post: async (path, body) => (await api.send({ method: 'POST', path, ...(body !== undefined && { body }) })).body,
    async upload(path, file) {
      const answer = await sendFile(base + path, file, { headers, dispatcher }).catch((error: unknown) => {
        throw error instanceof CommandError ? error : unavailable(error)
      })
      return parseAnswer(answer.status, answer.text, `POST ${path.replace(/\?.*/, '')}`)
    },
    openSocket: (path) => new WebSocket(base.replace(/^http/, 'ws') + path, { headers, ...trust }),
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

function parseAnswer(status: number, text: string, what: string): Json {
  const body = parseJson(text)
  if (status >= 200 && status < 300) {
    if (!isPage(body)) return body
    throw new CommandError(
      'unavailable',
      `The answer is a page, as of a login to a network or of another server (${what})`,
    )
  }
  throw refusal(status, detailOf(body), what)
}

/** Returns the error of a refused request. */
export function refusal(status: number, detail: string, what: string): CommandError {
  const outcome = status === 401 ? 'signedOut' : status >= 500 ? 'unavailable' : 'refused'
  const hint = outcome === 'signedOut' ? ' (signalbox login signs in)' : ''
  return new CommandError(outcome, `${detail}${hint} (${what}: ${status})`, status)
}

/** True for an answer of anything but a Signalbox: its own texts are tables. */
export function isPage(body: Json): boolean {
  return typeof body === 'string' && /^\s*<(!doctype|html|head|body)\b/i.test(body)
}

/** Returns the text itself if it is no JSON: a proxy before the server answers with pages. */
export function parseJson(text: string): Json {
  try {
    return text === '' ? {} : (JSON.parse(text) as Json)
  } catch {
    return text
  }
}

/** A proxy before the server refuses requests by a page, or by an empty answer. */
function detailOf(body: Json): string {
  const { detail } = objectOf(body)
  if (typeof detail === 'string') return detail
  const shown = JSON.stringify(body)
  return shown === '{}' ? 'The answer has no reason' : `The answer has no reason, but is ${shown}`
}

/** Returns the fields of an answer; none for one that is not an object. */
export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

/** Returns the objects of a list, or of the `results` of a search. */
export function rowsOf(value: Json): readonly JsonObject[] {
  const list = Array.isArray(value) ? (value as readonly Json[]) : objectOf(value)['results']
  return Array.isArray(list) ? list.map(objectOf) : []
}

/** Returns the rows of all pages of a list. */
export async function listAll(api: Api, path: string): Promise<readonly JsonObject[]> {
  const all: JsonObject[] = []
  for (let next: string | undefined = path; next !== undefined;) {
    const { body, headers } = await api.send({ method: 'GET', path: next })
    all.push(...rowsOf(body))
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
  }
  return all
}
