import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { Agent, type RequestInit, fetch, request } from 'undici'
import { AppError } from '../platform/errors.ts'
import { messageOf } from '../platform/message-of.ts'

/** Calls the service over HTTP, as any other client does. */
export interface Client {
  /** @throws AppError with the server's own text. */
  call(method: string, path: string, body?: unknown): Promise<unknown>
  /** Sends a file's bytes; `type` defaults to `application/octet-stream`. */
  upload(path: string, bytes: Uint8Array, type?: string): Promise<unknown>
  /** Sends a file of any size, piece by piece. */
  uploadFile(path: string, file: { readonly path: string; readonly sizeBytes: number }): Promise<unknown>
}

export interface ClientOptions {
  readonly url: string
  /** The whole Authorization header. */
  readonly authorization: string
  /** Trusted besides the default CAs: this folder's CA signs the server's self-signed certificate. */
  readonly dataDir: string
}

export function createClient({ url, authorization, dataDir }: ClientOptions): Client {
  const dispatcher = new Agent({
    connect: { ca: [...getCACertificates('default'), ...ownCa(dataDir)] },
    keepAliveTimeout: 1000,
  })
  async function send(path: string, init: RequestInit): Promise<unknown> {
    const answer = await fetch(url + path, { ...init, dispatcher }).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
      throw unreachable(url, cause)
    })
    return parseAnswer(`${init.method} ${path}`, answer.status, await answer.text())
  }
  return {
    call: (method, path, body) =>
      send(path, {
        method,
        headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    upload: (path, bytes, type = 'application/octet-stream') =>
      send(path, {
        method: 'POST',
        headers: { authorization, 'content-type': type },
        body: Buffer.from(bytes),
      }),
    async uploadFile(path, { path: file, sizeBytes }) {
      const headers = { authorization, 'content-type': 'application/octet-stream', 'content-length': String(sizeBytes) }
      const options = { method: 'POST', headers, body: createReadStream(file), dispatcher, headersTimeout: 0 } as const
      const answer = await request(url + path, options).catch((error: unknown) => {
        throw unreachable(url, messageOf(error))
      })
      return parseAnswer(`POST ${path.replace(/\?.*/, '')}`, answer.statusCode, await answer.body.text())
    },
  }
}

function unreachable(url: string, cause: string): AppError {
  return new AppError('unavailable', `no Signalbox answers at ${url} (${cause}); is it started? npm start`)
}

/** @throws AppError with the server's own text. */
function parseAnswer(what: string, status: number, text: string): unknown {
  const body: unknown = text === '' ? {} : JSON.parse(text)
  if (status >= 400)
    throw new AppError(status === 404 ? 'not_found' : 'invalid', `${explain(body)} (${what}: ${status})`)
  return body
}

function ownCa(dataDir: string): string[] {
  try {
    return [readFileSync(join(dataDir, 'device-ca', 'ca.pem'), 'utf8')]
  } catch {
    // An operator with external certificates has none here.
    return []
  }
}

function explain(body: unknown): string {
  if (typeof body !== 'object' || body === null) return String(body)
  const { detail, reason } = body as { detail?: unknown; reason?: unknown }
  if (typeof detail !== 'string') return typeof reason === 'string' ? reason : JSON.stringify(body)
  // Most errors have the reason in their detail too.
  return typeof reason !== 'string' || detail.endsWith(reason) ? detail : `${detail}: ${reason}`
}
