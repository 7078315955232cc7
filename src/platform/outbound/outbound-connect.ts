import { type LookupFunction, type Socket, isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import { callbackify } from 'node:util'
import type * as undici from 'undici'
import type { AddressGuard } from './address-guard.ts'
import { type EgressProxy, openTunnel } from './egress-proxy.ts'
import { type NameResolver, noPublicAddress } from '../names/name-resolver.ts'
import type { AgentKind } from './outbound-agents.ts'
import type { Deadlines } from '../time/deadlines.ts'
import { directReads } from './http-connection.ts'
import type { Connect } from './http-connections.ts'

const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 1000
const MAX_HEADER_BYTES = 16 * 1024
/**
 * The largest TLS record that is sent. OpenSSL allocates a buffer of this size for each record and frees it at once. Without the
 * limit it has 16 KB, for which the program's settings of malloc make a mapping each time.
 */
const MAX_RECORD_BYTES = 8 * 1024

type Undici = typeof undici

/** Creates an agent that connects to no blocked address, for `fetch`. */
export function createGuardedAgent(loaded: Undici, options: ConnectorOptions): undici.Agent {
  return new loaded.Agent({
    connect: guardedConnector(loaded, options),
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // These time-outs measure silence only: the deadline of each request bounds the whole.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Creates a function that connects to no blocked address. */
export function createGuardedConnect(loaded: Undici, options: ConnectorOptions): Connect {
  const connect = guardedConnector(loaded, options)
  return ({ host, hostname, protocol, port }, done) => {
    connect({ host, hostname: bare(hostname), protocol, port }, (...[error, socket]) => {
      if (error !== null) {
        done(error, null)
        return
      }
      if (socket instanceof TLSSocket) socket.setMaxSendFragment(MAX_RECORD_BYTES)
      done(null, { socket, remoteAddress: options.proxy === null ? (socket.remoteAddress ?? null) : null })
    })
  }
}

export interface ConnectorOptions extends AgentKind {
  readonly mayCall: AddressGuard
  readonly names: NameResolver
  readonly proxy: EgressProxy | null
  readonly deadlines: Deadlines
  readonly signal: AbortSignal
}

/** Literal addresses never reach `lookup`, so they are checked separately; the connected address is checked again. */
function guardedConnector({ buildConnector }: Undici, options: ConnectorOptions): undici.buildConnector.connector {
  const { mayCall, names, proxy, verifyCert, identity, signal } = options
  const build = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    maxCachedSessions: 0,
    rejectUnauthorized: verifyCert,
    ...identity,
    onread: directReads,
    lookup: guardedLookup(mayCall, names),
    // With this option net requests all addresses.
    autoSelectFamily: true,
    signal,
  })
  // TLS throws if it can't use the certificate.
  const connect: undici.buildConnector.connector = (target, done) => {
    try {
      build(target, done)
    } catch (error) {
      target.httpSocket?.destroy()
      done(error instanceof Error ? error : new Error(String(error)), null)
    }
  }
  return (target, done) => {
    const host = bare(target.hostname)
    if (isIP(host) !== 0 && !mayCall(host)) {
      done(new Error(refusalOf(host)), null)
      return
    }
    if (proxy !== null) {
      callbackify(() => openGuardedTunnel(proxy, target, options))((error: Error | null, socket) => {
        if (error !== null) done(error, null)
        else if (target.protocol === 'https:') connect({ ...target, httpSocket: socket }, done)
        else done(null, socket)
      })
      return
    }
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        done(error, null)
        return
      }
      const { remoteAddress } = socket
      const failed = attemptedBefore(socket)
      if (failed.length > 0) names.noteFailed(host, failed)
      if (remoteAddress !== undefined && mayCall(remoteAddress)) {
        done(null, socket)
        return
      }
      socket.destroy()
      done(new Error(refusalOf(host)), null)
    })
  }
}

/** Returns the addresses that net could not connect to before it connected; each one takes up to a quarter of a second. */
function attemptedBefore(socket: Socket): string[] {
  // Node declares it for all sockets, but those that were connected to a literal address do not have it.
  const attempted: readonly string[] | undefined = socket.autoSelectFamilyAttemptedAddresses
  return (attempted ?? []).slice(0, -1).map((target) => target.slice(0, target.lastIndexOf(':')))
}

/** The proxy gets addresses only, so that nothing it could resolve otherwise passes the guard. */
async function openGuardedTunnel(
  proxy: EgressProxy,
  { hostname, protocol, port }: undici.buildConnector.Options,
  { mayCall, names, deadlines, signal }: ConnectorOptions,
): Promise<Socket> {
  const host = bare(hostname)
  // send() has just resolved it on behalf of its owner.
  const addresses = isIP(host) === 0 ? (await names.resolve(host, null)).map(({ address }) => address) : [host]
  if (!addresses.every((address) => mayCall(address))) throw new Error(refusalOf(host))
  const timeLimit = { deadlines, ms: CONNECT_TIMEOUT_MS, signal }
  return openTunnel(proxy, { addresses, port: Number(port || (protocol === 'https:' ? 443 : 80)), timeLimit })
}

/** Refuses a name if any of its addresses is blocked; net connects only to the addresses that this returns. */
function guardedLookup(mayCall: AddressGuard, names: NameResolver): LookupFunction {
  const resolve = callbackify(async (hostname: string) => {
    // send() has just resolved it on behalf of its owner.
    const addresses = await names.resolve(hostname, null)
    if (!addresses.every(({ address }) => mayCall(address))) throw new Error(refusalOf(hostname))
    return [...addresses]
  })
  return (hostname, _options, done) => resolve(hostname, done)
}

/** URL leaves the brackets around an IPv6 literal. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

export function refusalOf(host: string): string {
  return isIP(host) === 0 ? noPublicAddress(host) : `Address ${host} is not public`
}
