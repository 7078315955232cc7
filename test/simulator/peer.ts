import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Server as TlsServer, createServer as createTlsServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { type WebSocket, WebSocketServer } from 'ws'
import { type DeviceCa, type GatewayTls, issueGatewayTls } from '../../src/gateway/certificates/device-ca.ts'
import { decodeFrame, encodeCall, type Frame } from '../../src/gateway/websockets/jsonrpc.ts'
import { type Conditions, createConditions } from '../../src/simulator/ucentral/conditions.ts'
import { WITHIN_MS } from '../support/wait-until.ts'

/** One connection of a device, with all its messages. */
export interface PeerSession {
  /** The common name of the client's certificate. */
  readonly commonName: string
  readonly frames: Frame[]
  readonly socket: WebSocket
  closed: boolean
}

/** The other end of the connection: accepts devices and does only what a test requests. */
export interface Peer {
  readonly port: number
  /** All sessions so far, in order. */
  readonly sessions: readonly PeerSession[]
  /** Sends a call on the newest session and resolves with `error text` of its reply. */
  call(method: string, params?: Readonly<Record<string, unknown>>): Promise<string>
  /** Sends a call on the newest session and ignores its reply. */
  send(method: string, params?: Readonly<Record<string, unknown>>): void
  until(holds: () => boolean): Promise<void>
  /** Closes every connection, and accepts none before `open`. */
  shut(): void
  open(): void
  /** Names of the certificates whose upgrade requests it has left unanswered. */
  readonly silenced: readonly string[]
  /** Leaves upgrade requests unanswered until `answer`. */
  keepSilent(): void
  answer(): void
  stop(): Promise<void>
}

/** @param echo True if the gateway confirms the subprotocol that clients offer. */
export async function startPeer(ca: DeviceCa, echo = true): Promise<Peer> {
  const tls = await issueGatewayTls(ca, ['127.0.0.1'])
  const server = createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: true })
  const sockets = new WebSocketServer({ noServer: true, ...(!echo && { handleProtocols: () => false }) })
  const sessions: PeerSession[] = []
  const silenced: string[] = []
  const conditions = createConditions()
  let accepting = true
  let silent = false
  server.on('upgrade', (request, socket, head) => {
    if (!accepting) return void socket.destroy()
    if (!silent) {
      sockets.handleUpgrade(request, socket, head, (webSocket) => sockets.emit('connection', webSocket, request))
      return
    }
    socket.on('error', () => socket.destroy())
    silenced.push(nameOf(request))
    conditions.changed()
  })
  sockets.on('connection', (socket, request) => {
    track({ commonName: nameOf(request), frames: [], socket, closed: false }, sessions, conditions)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const until = (holds: () => boolean): Promise<void> => conditions.until(holds, WITHIN_MS)
  let id = 1
  const send = (method: string, params = {}): { id: number; session: PeerSession } => {
    const session = newest(sessions)
    id += 1
    session.socket.send(encodeCall(id, method, { serial: session.commonName, ...params }))
    return { id, session }
  }
  return {
    port: portOf(server),
    sessions,
    send: (method, params) => void send(method, params),
    async call(method, params) {
      const sent = send(method, params)
      const reply = (): string | null => replyTo(sent.session.frames, sent.id)
      await until(() => reply() !== null)
      return reply() ?? ''
    },
    until,
    shut() {
      accepting = false
      for (const { socket } of sessions) socket.terminate()
    },
    open: () => void (accepting = true),
    silenced,
    keepSilent: () => void (silent = true),
    answer: () => void (silent = false),
    async stop() {
      for (const { socket } of sessions) socket.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function nameOf({ socket }: IncomingMessage): string {
  return String((socket as TLSSocket).getPeerCertificate().subject.CN)
}

function track(session: PeerSession, sessions: PeerSession[], conditions: Conditions): void {
  sessions.push(session)
  session.socket.on('message', (data: Buffer) => {
    session.frames.push(decodeFrame(data.toString('utf8')))
    conditions.changed()
  })
  session.socket.on('close', () => {
    session.closed = true
    conditions.changed()
  })
  conditions.changed()
}

export function newest(sessions: readonly PeerSession[]): PeerSession {
  const session = sessions.at(-1)
  if (session === undefined) throw new Error('no device has connected')
  return session
}

function replyTo(frames: readonly Frame[], id: number): string | null {
  for (const frame of frames) {
    if (frame.kind !== 'reply' || frame.id !== id) continue
    const { status } = frame.result as { status: { error: number; text: string } }
    return `${status.error} ${status.text}`
  }
  return null
}

/** Returns the params of all messages of one method. */
export function messagesOf(session: PeerSession, method: string): readonly Readonly<Record<string, unknown>>[] {
  return session.frames.flatMap((frame) => (frame.kind === 'call' && frame.method === method ? [frame.params] : []))
}

export interface FileServer {
  readonly url: string
  /** The requested addresses. */
  readonly requests: readonly string[]
  stop(): Promise<void>
}

/** Serves images over HTTP; the test's function answers each request. */
export async function serveFiles(answer: (response: ServerResponse) => void): Promise<FileServer> {
  const requests: string[] = []
  const server = createHttpServer((request, response) => {
    requests.push(request.url ?? '')
    answer(response)
  })
  return { ...(await listen(server, 'http')), requests }
}

/** Serves one image over HTTPS. */
export async function serveFilesOverTls(tls: GatewayTls, image: Buffer): Promise<Omit<FileServer, 'requests'>> {
  return listen(
    createTlsServer({ cert: tls.cert, key: tls.key }, (_request, response) => response.end(image)),
    'https',
  )
}

async function listen(server: Server | TlsServer, scheme: 'http' | 'https'): Promise<Omit<FileServer, 'requests'>> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `${scheme}://127.0.0.1:${portOf(server)}`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function portOf(server: Pick<Server, 'address'>): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address.port
}
