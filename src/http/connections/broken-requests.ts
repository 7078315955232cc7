import { type IncomingMessage, ServerResponse, STATUS_CODES, maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'
import { shortSentence } from '../../platform/errors.ts'

interface Refusal {
  readonly status: number
  readonly detail: string
}

/** How long the client's remaining input is read and discarded, so that it can read the answer. */
const LINGER_MS = 1000

/** The answer to the newest request of each connection. A client may send several requests before it reads an answer. */
const newest = new WeakMap<Socket, ServerResponse>()

export function noteRequest({ socket }: IncomingMessage, response: ServerResponse): void {
  newest.set(socket, response)
}

/**
 * Answers a request that the HTTP parser gave up on, before it reached any route, in the interface's error form, and
 * closes its connection, after the answers to the requests before it. If the bytes follow a complete request, that request gets its own
 * answer instead: clients send such bytes as the body of a GET without its length.
 */
export function replyToBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  // The parser fails again on the remaining input.
  if (socket.writableEnded) return
  const refusal = refusalOf(error)
  const response: unknown = Reflect.get(socket, '_httpMessage')
  const last = newest.get(socket)
  if (refusal === null || !socket.writable) socket.destroy()
  else if (!(response instanceof ServerResponse)) endConnection(socket, encodeRefusal(refusal))
  else if (last?.req.complete === true) endAfter(last)
  else if (response !== last) replyAfter(response, error, socket)
  // More bytes would end up in the middle of the answer.
  else if (response.headersSent) socket.destroy()
  else endConnection(socket, encodeRefusal(refusal))
}

/** The connections whose refusal waits for an answer. */
const waiting = new WeakSet<Socket>()

/** Does it after the answer to an earlier request; once, however often the parser fails meanwhile. */
function replyAfter(response: ServerResponse, error: Error, socket: Socket): void {
  if (waiting.has(socket)) return
  waiting.add(socket)
  response.once('close', () => {
    waiting.delete(socket)
    replyToBrokenRequest(error, socket)
  })
}

/** Ends the connection of a complete request after its answer. */
function endAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false
  response.off('close', endOwnConnection).once('close', endOwnConnection)
}

function endOwnConnection(this: ServerResponse): void {
  endConnection(this.req.socket)
}

/** @param last The last bytes that are sent. */
function endConnection(socket: Socket, last = ''): void {
  socket.end(last)
  // Closing a socket with unread bytes resets the connection, and the answer would be lost.
  socket.removeAllListeners('data').resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/**
 * Returns null for errors of the connection itself, such as a reset or a failed TLS handshake: no answer could arrive.
 */
function refusalOf(error: Error & { readonly code?: string }): Refusal | null {
  const { code = '' } = error
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, detail: 'The headers of the request did not arrive in time' }
  if (code === 'HPE_HEADER_OVERFLOW')
    return { status: 431, detail: `The headers of a request may have at most ${maxHeaderSize} bytes` }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return { status: 413, detail: 'The chunk extensions of the body are too large' }
  if (!code.startsWith('HPE_')) return null
  const reason: unknown = Reflect.get(error, 'reason')
  return { status: 400, detail: `Not a valid HTTP request: ${typeof reason === 'string' ? reason : code}` }
}

function encodeRefusal({ status, detail }: Refusal): string {
  const body = JSON.stringify({ detail })
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/** Answers a request whose `Expect` header has a value other than `100-continue`. */
export function replyToExpectation({ headers }: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify({ detail: shortSentence(`Expect may be 100-continue only, not ${headers.expect}`) })
  response
    .writeHead(417, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    })
    .end(body)
}
