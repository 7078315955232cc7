import { type X509Certificate, constants } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Server as HttpsServer, createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws'
import { plainSerial } from '../../devices/certificates/certificate.ts'
import type { AdmissionLimits } from '../admission/admission.ts'
import type { GatewayTls } from '../certificates/device-ca.ts'
import { serverChain } from '../certificates/server-chain.ts'
import type { ConnectionGate } from '../../platform/queues/connection-gate.ts'
import { type ArrivalTimes, type Arrivals, createArrivals } from '../admission/arrivals.ts'
import { type Slices, byNumber, createSlices } from '../../platform/queues/slices.ts'
import { type SessionSocket, type SessionSocketClass, closedByTurns } from './session-socket.ts'

/** The largest frame; a larger one closes the session. */
const MAX_FRAME_BYTES = 512 * 1024
const HANDSHAKE_TIMEOUT_MS = 10_000
/** How long a peer may take to answer our close frame. */
const CLOSE_TIMEOUT_MS = 5000
/**
 * The largest TLS record that is sent: nearly all messages are smaller. OpenSSL allocates a buffer of this size for each record
 * and frees it at once. Without the limit it has 16 KB, for which the program's settings of malloc make a mapping each time.
 */
const MAX_RECORD_BYTES = 4096
/**
 * The sessions of a port that one turn of the event loop ends, and those to which it sends a close frame: each takes 0.1 ms, and a network
 * that breaks ends thousands.
 */
const ENDED_PER_TURN = 32
/** Connections that the kernel queues for us; the default maximum of Linux is 4096. */
const BACKLOG = 4096

export interface Peer<I> {
  /** From the client certificate. */
  readonly identity: I
  /** The serial number of the client certificate: see plainSerial(). */
  readonly certificateSerial: string
  readonly certificateExpiresAt: Date
  readonly address: string | null
  /** The stream beneath the WebSocket. */
  readonly stream: Duplex
}

/**
 * Why a connection did not become a session. `busy`: too many at once. `network`: too many from its network. `late`:
 * too slow to be answered in time. `silent`: silent while others waited for its place. `tls`: the handshake failed.
 * `identity`: its certificate names no device. `request`: not a WebSocket request for `/`. `flooding`: the device has
 * exceeded its allowance.
 */
export type Refusal = 'busy' | 'network' | 'late' | 'silent' | 'tls' | 'identity' | 'request' | 'flooding'

export interface WebSocketServerOptions<I> {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly tls: GatewayTls
  readonly gate: ConnectionGate
  readonly admission: AdmissionLimits
  readonly now: () => number
  readonly times: ArrivalTimes
  /** Returns the peer that a certificate from the CA identifies; null: none. */
  readonly identify: (commonName: string, socket: TLSSocket) => I | null
  /** False for a device that may not open a session now. */
  readonly mayOpen: (identity: I) => boolean
  readonly onSession: (socket: SessionSocket, peer: Peer<I>) => void
  readonly onRefused: (why: Refusal, address: string | null) => void
}

export interface WebSocketListener {
  readonly port: number
  /** Drops the connections that have taken too long to become sessions. */
  dropLate(): void
  /** Accepts no more connections and drops those that are not sessions yet; resolves when all sockets are closed. */
  close(): Promise<void>
}

/** Starts the listener that devices connect to: WebSocket over mutual TLS. */
export async function startWebSocketServer<I>(options: WebSocketServerOptions<I>): Promise<WebSocketListener> {
  const arrivals = createArrivals({
    admission: options.admission,
    now: options.now,
    ...options.times,
    beginTls(socket) {
      https.emit('connection', socket)
      // Node.js waits for the socket to connect, as an accepted one has, and would keep five objects for that; see decision 408.
      socket.removeAllListeners('connect')
    },
    onRefused: (why, socket) => options.onRefused(why, options.gate.addressOf(socket)),
  })
  const https = createTlsServer(options, arrivals)
  // A waiting socket must not be read, because its first bytes belong to TLS.
  const listener = createServer({ pauseOnConnect: true }, (socket) =>
    options.gate.pass(socket, {
      enter: (address) => arrivals.add(socket, address),
      refuse: (address) => options.onRefused('network', address),
    }),
  )
  const port = await listen(listener, options)
  return {
    port,
    dropLate: () => arrivals.dropLate(),
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        arrivals.stop()
      }),
  }
}

/** This server never listens, so its timers never run: it receives the admitted sockets. */
function createTlsServer<I>(options: WebSocketServerOptions<I>, arrivals: Arrivals): HttpsServer {
  const https = createHttpsServer({
    ...options.tls,
    cert: serverChain(options.tls),
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: true,
    rejectUnauthorized: true,
    // Each connection proves its key again; tickets would also cost memory on every one.
    secureOptions: constants.SSL_OP_NO_TICKET,
    sessionTimeout: 1,
    // Without a callback each connection gets a copy of the default list, which keeps a shared slab of 64 KiB in
    // memory.
    ALPNCallback: ({ protocols }) => protocols.find((protocol) => protocol === 'http/1.1'),
  })
  // The type definitions of ws lack `closeTimeout`.
  const settings: ServerOptions<SessionSocketClass> & { closeTimeout: number } = {
    noServer: true,
    WebSocket: closedByTurns(createSlices({ limit: ENDED_PER_TURN, spend: byNumber })),
    clientTracking: false,
    // Sessions answer pings themselves, as long as the device's allowance lasts.
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    closeTimeout: CLOSE_TIMEOUT_MS,
  }
  const sockets = new WebSocketServer(settings)
  https.on('secureConnection', (socket: TLSSocket) => {
    socket.setMaxSendFragment(MAX_RECORD_BYTES)
    arrivals.shakenHands(socket)
  })
  https.on('tlsClientError', (_error, socket) => options.onRefused('tls', options.gate.addressOf(socket)))
  https.on('request', (request, response) => {
    options.onRefused('request', options.gate.addressOf(request.socket))
    response.writeHead(426, { upgrade: 'websocket', connection: 'close' }).end()
  })
  const host = {
    sockets,
    options,
    arrivals,
    destroy: destroyByTurns(createSlices({ limit: ENDED_PER_TURN, spend: byNumber })),
  }
  https.on('upgrade', (request, socket, head) => upgrade(host, { request, socket, head }))
  return https
}

interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

interface UpgradeHost<I> {
  readonly sockets: InstanceType<typeof WebSocketServer<SessionSocketClass>>
  readonly options: WebSocketServerOptions<I>
  readonly arrivals: Arrivals
  /** The `_destroy` of the sockets of all sessions. */
  readonly destroy: Duplex['_destroy']
}

function upgrade<I>({ sockets, options, arrivals, destroy }: UpgradeHost<I>, { request, socket, head }: Upgrade): void {
  if (!arrivals.checkInTime(request.socket)) return
  const address = options.gate.addressOf(request.socket)
  // ws handles the errors of a socket that it accepts; we must handle those of a socket that we refuse.
  const refuse = (status: string, why: Refusal): void => {
    options.onRefused(why, address)
    socket.on('error', () => socket.destroy())
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
  }
  if (request.url?.split('?')[0] !== '/') return refuse('404 Not Found', 'request')
  const peer = identityOf(request.socket, options.identify)
  if (peer === null) return refuse('403 Forbidden', 'identity')
  if (!options.mayOpen(peer.identity)) {
    options.onRefused('flooding', address)
    socket.on('error', () => socket.destroy())
    arrivals.hold(request.socket)
    return
  }
  const others = new Set(socket.listeners('end'))
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    arrivals.remove(request.socket)
    socket._destroy = destroy
    terminateAtEnd(webSocket, socket, others)
    options.onSession(webSocket, { ...peer, address, stream: socket })
  })
}

/**
 * Ends sessions by turns, in the order in which they are to end: a network that breaks closes or resets thousands of them in the
 * same turn of the event loop. Node.js documents `_destroy` as the method by which a stream defines its end.
 */
function destroyByTurns(ends: Slices): Duplex['_destroy'] {
  return function destroy(this: HandledSocket, error, done) {
    // The handle may have decrypted further data by now. For a destroyed socket Node.js takes it for an error and throws.
    if (this._handle !== null) this._handle.onread = dropRead
    ends.run(() => TLSSocket.prototype._destroy.call(this, error, done))
  }
}

/** The part of a socket beneath it, as Node.js itself changes it in `_destroy`. */
interface HandledSocket extends Duplex {
  readonly _handle: { onread: () => void } | null
}

function dropRead(): void {}

type EndListener = (...args: unknown[]) => void

/**
 * Replaces the listener of ws for the end of the peer's data, which would answer it at once, however many end in the same turn
 * of the event loop.
 * @param others The listeners for it that the socket had before ws.
 */
function terminateAtEnd(webSocket: WebSocket, socket: Duplex, others: ReadonlySet<unknown>): void {
  // Otherwise Node.js ends it.
  socket.allowHalfOpen = true
  for (const listener of socket.listeners('end')) if (!others.has(listener)) socket.off('end', listener as EndListener)
  socket.on('end', () => {
    // Otherwise we have closed it as well, after the peer's close frame.
    if (!socket.writableEnded) webSocket.terminate()
  })
}

/** Only the certificate identifies the peer; TLS has verified that our CA issued it. */
function identityOf<I>(
  socket: Socket,
  identify: WebSocketServerOptions<I>['identify'],
): Pick<Peer<I>, 'identity' | 'certificateSerial' | 'certificateExpiresAt'> | null {
  if (!(socket instanceof TLSSocket)) return null
  // Unlike getPeerCertificate(), this computes only the parts that are read.
  const certificate = socket.getPeerX509Certificate()
  const identity = certificate === undefined ? null : identify(commonNameOf(certificate), socket)
  if (certificate === undefined || identity === null) return null
  const { serialNumber, validToDate: certificateExpiresAt } = certificate
  return { identity, certificateSerial: plainSerial(serialNumber), certificateExpiresAt }
}

/** Returns an empty name when the subject has none, or several. */
function commonNameOf(certificate: X509Certificate): string {
  const { subject } = certificate
  // One line may hold several attributes, joined by a plus, and special characters of values are escaped.
  if (/[+\\]/.test(subject)) {
    // Despite its type, this is an array when there are several names.
    const name: unknown = certificate.toLegacyObject().subject.CN
    return typeof name === 'string' ? name : ''
  }
  const [name = '', ...others] = subject.split('\n').filter((line) => line.startsWith('CN='))
  return others.length === 0 ? name.slice('CN='.length) : ''
}

function listen(listener: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen({ port, host, backlog: BACKLOG }, () => {
      listener.off('error', reject)
      // A listening TCP server has no other kind of address.
      resolve((listener.address() as AddressInfo).port)
    })
  })
}
