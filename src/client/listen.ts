import { type KeyObject, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from './api.ts'

export interface ListenOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Null: signatures by a secret are not checked. */
  readonly secret: string | null
  /** The public key of the webhook, `whpk_...`. Null: signatures by its key are not checked. */
  readonly publicKey: KeyObject | null
  readonly fault: Fault
  readonly now: () => Date
  readonly onMessage: (message: HeardMessage) => void
}

/** A simulated fault of the receiver. */
export interface Fault {
  /** The reply to messages: an answer with `status`, no answer, or a broken connection. */
  readonly reply: 'answer' | 'hang' | 'reset'
  readonly status: number
  /** The number of messages with the fault; the others get 200. */
  readonly times: number
  readonly delayMs: number
}

export interface HeardMessage {
  /** ISO 8601. */
  readonly at: string
  readonly id: string | null
  /** True if the same message arrived before. */
  readonly repeated: boolean
  /** Why it is not from the service; null if it is, or if there is no secret to check it by. */
  readonly fault: string | null
  /** The status of the answer; null if there is none. */
  readonly status: number | null
  /** The document, or the text if it is not JSON. */
  readonly message: Json
}

export interface Listener {
  readonly url: string
  close(): Promise<void>
}

/** The largest message that the service sends is smaller. */
const MAX_BYTES = 8 * 1024 * 1024
/** Bounds the memory of a receiver that runs for days. */
const REMEMBERED = 10_000
const MAX_AGE_MS = 5 * 60_000
const noFault = { reply: 'answer', status: 200 } as const

/** @returns The key of `whpk_...`, or undefined for any other text. */
export function parsePublicKey(text: string): KeyObject | undefined {
  const raw = Buffer.from(text.replace(/^whpk_/, ''), 'base64')
  if (raw.length !== 32) return undefined
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' })
}

/** Receives webhooks until `close`, and reports each one. */
export async function listenForWebhooks(options: ListenOptions): Promise<Listener> {
  const seen = new Set<string>()
  const closing = new AbortController()
  let failures = 0
  const server = createServer((request, response) => {
    // The sender has closed the connection, or the receiver ends: no answer can reach the sender.
    answer(request, response).catch(() => response.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    if (body === null) return void response.writeHead(413).end()
    const id = headerOf(request.headers, 'webhook-id')
    const { reply, ...fault } = failures < options.fault.times ? options.fault : noFault
    const status = reply === 'answer' ? fault.status : null
    failures += 1
    if (options.fault.delayMs > 0) await pause(options.fault.delayMs, undefined, { signal: closing.signal })
    if (status !== null) response.writeHead(status).end()
    if (reply === 'reset') request.socket.resetAndDestroy()
    options.onMessage({
      at: options.now().toISOString(),
      id,
      repeated: id !== null && remember(seen, id),
      fault: findFault(options, request.headers, body),
      status,
      message: parse(body),
    })
  }

  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // A server that listens on a port has no other address.
  return {
    url: `http://${options.host}:${port}`,
    close() {
      closing.abort()
      return close(server)
    },
  }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

/** @returns Null if it is longer than allowed. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_BYTES) return null
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** @returns True if it was there before. */
function remember(seen: Set<string>, id: string): boolean {
  if (seen.has(id)) return true
  const [oldest] = seen
  if (oldest !== undefined && seen.size >= REMEMBERED) seen.delete(oldest)
  seen.add(id)
  return false
}

/** Checks the signatures of Standard Webhooks, like the receivers of docs/webhooks.md. */
function findFault(
  { secret, publicKey, now }: Pick<ListenOptions, 'secret' | 'publicKey' | 'now'>,
  headers: IncomingHttpHeaders,
  body: Buffer,
): string | null {
  if (secret === null && publicKey === null) return null
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  )
  if (id == null || timestamp == null || signatures == null) return 'it has no signature'
  const ageMs = Math.abs(now().getTime() - Number(timestamp) * 1000)
  if (!(ageMs <= MAX_AGE_MS)) return 'its time is not that of this machine'
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body])
  const given = signatures.split(' ')
  if (secret !== null && !given.some((signature) => isBySecret(secret, signed, signature)))
    return 'its signature is wrong'
  if (publicKey !== null && !given.some((signature) => isByKey(publicKey, signed, signature)))
    return 'its signature by the key is wrong'
  return null
}

/** A rest of `whsec_` that is not base64 is not an encoded key: the service takes the whole text for it. */
const encodedKey = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/

function isBySecret(secret: string, signed: Buffer, signature: string): boolean {
  const encoded = encodedKey.exec(secret)?.[1]
  const key = encoded ? Buffer.from(encoded, 'base64') : Buffer.from(secret)
  const expected = createHmac('sha256', key).update(signed).digest()
  const given = Buffer.from(signature.replace('v1,', ''), 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function isByKey(publicKey: KeyObject, signed: Buffer, signature: string): boolean {
  return signature.startsWith('v1a,') && verify(null, signed, publicKey, Buffer.from(signature.slice(4), 'base64'))
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name]
  return typeof value === 'string' ? value : null
}

function parse(body: Buffer): Json {
  const text = body.toString('utf8')
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
