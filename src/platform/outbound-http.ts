import { setMaxListeners } from 'node:events'
import { type LookupFunction, isIP } from 'node:net'
import { callbackify } from 'node:util'
import type * as undici from 'undici'
import { type AddressGuard, type AddressPolicy, createAddressGuard } from './address-guard.ts'
import { lazily } from './lazily.ts'
import type { ResolvedAddress } from './names/hosts.ts'
import { type NameResolver, type NameResolverOptions, createNameResolver } from './names/name-resolver.ts'

export interface OutboundOptions extends AddressPolicy {
  readonly names?: NameResolverOptions
}

export interface OutboundRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
  readonly verifyCert: boolean
  /** From start to end, whatever arrives in between. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /**
   * The organization for which the request is made: each has only a few names resolved at a time. Without one there is
   * no such limit.
   */
  readonly owner?: string
}

/**
 * `answer`: the other side gave a status, which counts even where its body was cut or broke off. `failed`: it gave
 * none, and may or may not have acted. `aborted`: by `signal`.
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

/** HTTP to addresses that users choose. It never follows a redirect and never calls a blocked address. */
export interface OutboundHttp {
  send(outbound: OutboundRequest): Promise<OutboundResult>
  /**
   * Returns the first address of the URL's host that may not be called. Null also for a name that can't be resolved
   * now: every call checks it again. `owner` as in a request.
   */
  findBlockedAddress(url: URL, owner: string): Promise<string | null>
  /** Closes every connection; running requests fail. */
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 10_000
/** Short, because a request fails on a connection that the other side is just closing. */
const KEEP_ALIVE_MS = 1000
const MAX_ANSWER_BYTES = 16 * 1024
const MAX_HEADER_BYTES = 16 * 1024
const RESOLVE_WITHIN_MS = 3000

export function createOutboundHttp(options: OutboundOptions): OutboundHttp {
  const mayCall = createAddressGuard(options)
  const names = createNameResolver(options.names)
  // Destroying an agent waits for connections in progress: this ends them.
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const agents = lazily(async () => {
    const loaded = await import('undici')
    const open = (verifyCert: boolean): undici.Agent =>
      createAgent(loaded, guardedConnector(loaded, { mayCall, names, verifyCert, signal: closing.signal }))
    return { loaded, verifying: open(true), trusting: open(false) }
  })
  return {
    async send(outbound) {
      const { loaded, verifying, trusting } = await agents.get()
      return send({ loaded, agent: outbound.verifyCert ? verifying : trusting, names }, outbound)
    },
    async findBlockedAddress(url, owner) {
      const host = bare(url.hostname)
      if (isIP(host) !== 0) return mayCall(host) ? null : host
      const addresses = await resolveInTime(names, host, owner)
      return addresses.find(({ address }) => !mayCall(address))?.address ?? null
    },
    async close() {
      closing.abort()
      names.close()
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
    // These time-outs measure silence only: the signal of each request bounds the whole.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

interface ConnectorOptions {
  readonly mayCall: AddressGuard
  readonly names: NameResolver
  readonly verifyCert: boolean
  readonly signal: AbortSignal
}

/** Literal addresses never reach `lookup`, so they are checked separately; the connected address is checked again. */
function guardedConnector({ buildConnector }: Undici, options: ConnectorOptions): undici.buildConnector.connector {
  const { mayCall, names, verifyCert, signal } = options
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    maxCachedSessions: 0,
    rejectUnauthorized: verifyCert,
    lookup: guardedLookup(mayCall, names),
    // With this option net asks for all addresses.
    autoSelectFamily: true,
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

/** Refuses a name if any of its addresses is blocked; net connects only to the addresses that this returns. */
function guardedLookup(mayCall: AddressGuard, names: NameResolver): LookupFunction {
  const resolve = callbackify(async (hostname: string) => {
    // send() has just resolved it on behalf of its owner.
    const addresses = await names.resolve(hostname, null)
    const blocked = addresses.find(({ address }) => !mayCall(address))
    if (blocked !== undefined) throw blockedError(blocked.address)
    return [...addresses]
  })
  return (hostname, _options, done) => resolve(hostname, done)
}

/** Empty where that fails or takes too long. */
async function resolveInTime(names: NameResolver, host: string, owner: string): Promise<readonly ResolvedAddress[]> {
  const signal = AbortSignal.timeout(RESOLVE_WITHIN_MS)
  return Promise.race([names.resolve(host, { owner, signal }), rejectAtAbort(signal)]).catch(() => [])
}

/** URL keeps the brackets of an IPv6 literal. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function blockedError(address: string): Error {
  return new Error(`address ${address} may not be called`)
}

interface Sender {
  readonly loaded: Undici
  readonly agent: undici.Agent
  readonly names: NameResolver
}

async function send({ loaded, agent, names }: Sender, outbound: OutboundRequest): Promise<OutboundResult> {
  const { url, method, headers, body, timeoutMs, owner } = outbound
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = outbound.signal === undefined ? timeout : AbortSignal.any([timeout, outbound.signal])
  try {
    // undici notices an abort only once it is connected.
    const aborted = rejectAtAbort(signal)
    const host = bare(new URL(url).hostname)
    // The connection looks it up again, without its owner, and finds the cached answer.
    if (isIP(host) === 0)
      await Promise.race([names.resolve(host, owner === undefined ? null : { owner, signal }), aborted])
    const sent = loaded.request(url, { dispatcher: agent, method, headers, body, signal })
    const answer = await Promise.race([sent, aborted])
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

/** Reads the part worth keeping and drops the connection if there is more. */
async function readStart(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of body) {
      parts.push(part)
      size += part.length
      if (size >= MAX_ANSWER_BYTES) break // Leaving the loop destroys the stream.
    }
  } catch {
    // The status is there: a body that breaks off or runs into the time-out changes nothing.
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

/** One line for people: a failed dual-stack connect has its reasons in its parts only. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describe).join('; ')
  if (!(error instanceof Error)) return String(error)
  return error.message || error.name
}
