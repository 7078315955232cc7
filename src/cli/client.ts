import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { Agent, type RequestInit, fetch } from 'undici'
import { isPage, parseJson } from '../client/api.ts'
import { CommandError } from '../client/exit-codes.ts'
import { type SentFile, sendFile } from '../client/send-file.ts'
import { AppError } from '../platform/errors.ts'
import { messageOf } from '../platform/message-of.ts'

/** Calls the service over HTTP, as any other client does. */
export interface Client {
  /** @throws AppError with the server's own text. */
  call(method: string, path: string, body?: unknown): Promise<unknown>
  /** Sends a file's bytes; `type` defaults to `application/octet-stream`. */
  upload(path: string, bytes: Uint8Array, type?: string): Promise<unknown>
  /** Sends a file of any size, piece by piece. */
  uploadFile(path: string, file: SentFile): Promise<unknown>
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
    async uploadFile(path, file) {
      const sent = { headers: { authorization }, dispatcher }
      const answer = await sendFile(url + path, file, sent).catch((error: unknown) => {
        throw error instanceof CommandError ? error : unreachable(url, messageOf(error))
      })
      return parseAnswer(`POST ${path.replace(/\?.*/, '')}`, answer.status, answer.text)
    },
  }
}

function unreachable(url: string, cause: string): AppError {
  return new AppError('unavailable', `no Signalbox answers at ${url} (${cause}); is it started? npm start`)
}

/** @throws AppError with the server's own text. */
function parseAnswer(what: string, status: number, text: string): unknown {
  const body = parseJson(text)
  if (isPage(body))
    throw new AppError('unavailable', `The answer is a page, as of a proxy or of another server (${what}: ${status})`)
  if (status < 400) return body
  const code = status === 404 ? 'not_found' : status >= 500 ? 'unavailable' : 'invalid'
  throw new AppError(code, `${explain(body)} (${what}: ${status})`)
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
