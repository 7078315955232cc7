import { lookup as systemLookup } from 'node:dns'
import { setMaxListeners } from 'node:events'
import { type LookupFunction, isIP } from 'node:net'
import type * as undici from 'undici'
import { type AddressGuard, type AddressPolicy, createAddressGuard } from './address-guard.ts'
import { lazily } from './lazily.ts'

export interface OutboundOptions extends AddressPolicy {
  /** Answers with all addresses of a name; the system's resolver by default. */
  readonly lookup?: AllLookup
}

export type AllLookup = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly ResolvedAddress[]) => void,
) => void

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

export interface OutboundRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
  readonly verifyCert: boolean
  /** From start to end, whatever trickles in between. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/**
 * `answer`: the other side gave a status; that is what it says, even where its body was cut or broke
 * off. `failed`: it gave none, and may or may not have acted. `aborted`: by `signal`.
 */
export type OutboundResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Readonly<Record<string, string | readonly string[]>>
      /** The first 16 KiB. */
      readonly body: Buffer
    }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'aborted' }

/** HTTP to addresses that users choose. Never follows a redirect and never calls a blocked address. */
export interface OutboundHttp {
  send(outbound: OutboundRequest): Promise<OutboundResult>
  /**
   * The first address of the URL's host that may not be called. Null also for a name that can't be
   * resolved now: it is checked again whenever it is called.
   */
  findBlockedAddress(url: URL): Promise<string | null>
  /** Closes every connection; running requests fail. */
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 10_000
/** Short, because a request on a connection that the other side is just closing fails. */
const KEEP_ALIVE_MS = 1000
const MAX_ANSWER_BYTES = 16 * 1024
const MAX_HEADER_BYTES = 16 * 1024
const RESOLVE_WITHIN_MS = 3000

export function createOutboundHttp(options: OutboundOptions): OutboundHttp {
  const mayCall = createAddressGuard(options)
  const lookup = options.lookup ?? lookupAll
  // Destroying an agent waits for connections that are still being made: this ends them.
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const agents = lazily(async () => {
    const loaded = await import('undici')
    const open = (verifyCert: boolean): undici.Agent =>
      createAgent(loaded, guardedConnector(loaded, { mayCall, lookup, verifyCert, signal: closing.signal }))
    return { loaded, verifying: open(true), trusting: open(false) }
  })
  return {
    async send(outbound) {
      const { loaded, verifying, trusting } = await agents.get()
      return send(loaded, outbound.verifyCert ? verifying : trusting, outbound)
    },
    async findBlockedAddress(url) {
      const host = bare(url.hostname)
      if (isIP(host) !== 0) return mayCall(host) ? null : host
      const addresses = await resolve(lookup, host)
      return addresses.find(({ address }) => !mayCall(address))?.address ?? null
    },
    async close() {
      closing.abort()
      const opened = await agents.opened
      if (opened !== null) await Promise.all([opened.verifying.destroy(), opened.trusting.destroy()])
    },
  }
}

type Undici = typeof undici

function createAgent({ Agent }: Undici, connect: undici.buildConnector.connector): undici.Agent {
  return new Agent({
    connect,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // These measure silence only: the signal of each request bounds the whole.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

interface ConnectorOptions {
  readonly mayCall: AddressGuard
  readonly lookup: AllLookup
  readonly verifyCert: boolean
  readonly signal: AbortSignal
}

/** Literal addresses never reach `lookup`, so they are checked on their own; whatever was dialled is checked again. */
function guardedConnector({ buildConnector }: Undici, options: ConnectorOptions): undici.buildConnector.connector {
  const { mayCall, lookup, verifyCert, signal } = options
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    maxCachedSessions: 0,
    rejectUnauthorized: verifyCert,
    lookup: guardedLookup(mayCall, lookup),
    signal,
  })
  return (target, done) => {
    const host = bare(target.hostname)
    if (isIP(host) !== 0 && !mayCall(host)) {
      done(blockedError(host), null)
      return
    }
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        done(error, null)
        return
      }
      const { remoteAddress } = socket
      if (remoteAddress !== undefined && mayCall(remoteAddress)) {
        done(null, socket)
        return
      }
      socket.destroy()
      done(blockedError(remoteAddress ?? 'unknown'), null)
    })
  }
}

/** Refuses a name if any of its addresses is blocked; net dials only the addresses handed on here. */
function guardedLookup(mayCall: AddressGuard, lookup: AllLookup): LookupFunction {
  return (hostname, { all }, done) => {
    lookup(hostname, (error, addresses) => {
      const [first] = addresses
      const blocked = addresses.find(({ address }) => !mayCall(address))
      if (error !== null) done(error, [])
      else if (first === undefined) done(new Error(`${hostname} has no address`), [])
      else if (blocked !== undefined) done(blockedError(blocked.address), [])
      else if (all === true) done(null, [...addresses])
      else done(null, first.address, first.family)
    })
  }
}

function lookupAll(...[hostname, done]: Parameters<AllLookup>): void {
  systemLookup(hostname, { all: true }, (error, addresses) => done(error, error === null ? addresses : []))
}

function resolve(lookup: AllLookup, host: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((answer) => {
    const timer = setTimeout(() => answer([]), RESOLVE_WITHIN_MS)
    lookup(host, (error, addresses) => {
      clearTimeout(timer)
      answer(error === null ? addresses : [])
    })
  })
}

/** URL keeps the brackets of an IPv6 literal. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function blockedError(address: string): Error {
  return new Error(`address ${address} may not be called`)
}

async function send({ request }: Undici, agent: undici.Agent, outbound: OutboundRequest): Promise<OutboundResult> {
  const { url, method, headers, body, timeoutMs } = outbound
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = outbound.signal === undefined ? timeout : AbortSignal.any([timeout, outbound.signal])
  try {
    // undici hears of an abort only once it is connected.
    const answer = await Promise.race([
      request(url, { dispatcher: agent, method, headers, body, signal }),
      rejectAtAbort(signal),
    ])
    return {
      kind: 'answer',
      status: answer.statusCode,
      headers: definedOf(answer.headers),
      body: await readStart(answer.body),
    }
  } catch (error) {
    if (outbound.signal?.aborted === true) return { kind: 'aborted' }
    return { kind: 'failed', error: timeout.aborted ? `no answer within ${timeoutMs} ms` : describe(error) }
  }
}

function rejectAtAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Reads what is worth keeping and drops the connection if there is more. */
async function readStart(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of body) {
      parts.push(part)
      size += part.length
      if (size >= MAX_ANSWER_BYTES) break // leaving the loop destroys the stream
    }
  } catch {
    // The status has been given: a body that breaks off or trickles past the time-out changes nothing.
  }
  return Buffer.concat(parts).subarray(0, MAX_ANSWER_BYTES)
}

function definedOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | readonly string[]> {
  const defined: Record<string, string | readonly string[]> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) defined[name] = value
  return defined
}

/** One line for people: a failed dual-stack connect says everything in its parts and nothing in itself. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describe).join('; ')
  if (!(error instanceof Error)) return String(error)
  return error.message || error.name
}
