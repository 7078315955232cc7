import { setMaxListeners } from 'node:events'
import { isIP } from 'node:net'
import type * as undici from 'undici'
import { type AddressPolicy, createAddressGuard } from './address-guard.ts'
import { type Deadlines, createDeadlines } from '../time/deadlines.ts'
import { withinTime } from '../time/within-time.ts'
import type { EgressProxy } from './egress-proxy.ts'
import { lazily } from '../lazily.ts'
import { type Agents, type ClientIdentity, createAgents } from './outbound-agents.ts'
import type { RequestSignal } from './cutter.ts'
import { describeError } from './describe-error.ts'
import { type CommonHeaders, type Target, targetOf } from './encode-request.ts'
import { type HttpConnections, createHttpConnections } from './http-connections.ts'
import { bare, createGuardedAgent, createGuardedConnect, refusalOf } from './outbound-connect.ts'
import type { ResolvedAddress } from '../names/hosts.ts'
import { type NameResolver, type NameResolverOptions, createNameResolver } from '../names/name-resolver.ts'
import { dispatch } from './outbound-dispatch.ts'

export interface OutboundOptions extends AddressPolicy {
  readonly names?: NameResolverOptions
  /** The proxy through which all calls go; null for none. */
  readonly proxy?: EgressProxy | null
}

export interface OutboundRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Headers that other requests have too, and those of this one, whose names must be others. */
  readonly common?: CommonHeaders
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
  readonly verifyCert: boolean
  readonly identity?: ClientIdentity
  /** From start to end, even if data arrives in between. Of a time in which the process did not run, a second counts. */
  readonly timeoutMs: number
  readonly signal?: RequestSignal
  /** True if the other side recognizes a request that it gets twice. Default: false. */
  readonly mayArriveTwice?: boolean
  /**
   * The organization for which the request is made: each may resolve only a few names at a time. Without one there is
   * no such limit.
   */
  readonly owner?: string
}

/**
 * `answer`: the other side gave a status, which counts even where its body was cut or broke off. `failed`: it gave
 * none, and may or may not have acted. `aborted`: by `signal`. `remoteAddress` is the one that was called; null if none
 * was reached, and for calls through a proxy.
 */
export type OutboundResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Readonly<Record<string, string | readonly string[]>>
      /** The first 16 KiB. */
      readonly body: Buffer
      readonly remoteAddress: string | null
    }
  | { readonly kind: 'failed'; readonly error: string; readonly remoteAddress: string | null }
  | { readonly kind: 'aborted' }

/** HTTP to addresses that users choose. It never follows a redirect and never calls a blocked address. */
export interface OutboundHttp {
  send(outbound: OutboundRequest): Promise<OutboundResult>
  /**
   * Does the same as fetch() of the platform, for libraries that need it and for answers of any size. The signal ends the whole
   * request, the caller bounds the answer.
   * @throws Error if there is no answer.
   */
  fetch(url: string, init: Omit<undici.RequestInit, 'dispatcher' | 'redirect'>): Promise<undici.Response>
  /**
   * Returns why the URL's host may not be called, in words that hide the addresses of a name. Null also for a name that
   * can't be resolved now: every call checks it again. `owner` as in a request.
   */
  findRefusal(url: URL, owner: string): Promise<string | null>
  /** Closes every connection; running requests fail. */
  close(): Promise<void>
}

const RESOLVE_WITHIN_MS = 3000

export function createOutboundHttp(options: OutboundOptions): OutboundHttp {
  const mayCall = createAddressGuard(options)
  const names = createNameResolver(options.names)
  const proxy = options.proxy ?? null
  const deadlines = createDeadlines()
  // Destroying an agent waits for connections in progress: this ends them.
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const guarded = { mayCall, names, proxy, deadlines, signal: closing.signal }
  let opened: Agents | null = null
  const agents = lazily(async () => {
    const loaded = await import('undici')
    opened = createAgents((kind) => createHttpConnections(createGuardedConnect(loaded, { ...guarded, ...kind })))
    return opened
  })
  const fetching = lazily(async () => createGuardedAgent(await import('undici'), { ...guarded, verifyCert: true }))
  const findDestination = createDestinations()
  return {
    send(outbound) {
      const sendBy = (of: Agents): Promise<OutboundResult> =>
        send({ connections: of.of(outbound), names, deadlines, findDestination }, outbound)
      return opened === null ? agents.get().then(sendBy) : sendBy(opened)
    },
    async fetch(url, init) {
      const [{ fetch }, dispatcher] = await Promise.all([import('undici'), fetching.get()])
      return fetch(url, { ...init, redirect: 'manual', dispatcher })
    },
    async findRefusal(url, owner) {
      const host = bare(url.hostname)
      if (isIP(host) !== 0) return mayCall(host) ? null : refusalOf(host)
      const addresses = await resolveInTime({ names, deadlines }, host, owner)
      return addresses.every(({ address }) => mayCall(address)) ? null : refusalOf(host)
    },
    async close() {
      closing.abort()
      names.close()
      await Promise.all([(await agents.opened)?.destroy(), (await fetching.opened)?.destroy()])
    },
  }
}

/** Empty if that fails or takes too long. */
async function resolveInTime(
  { names, deadlines }: Pick<Sender, 'names' | 'deadlines'>,
  host: string,
  owner: string,
): Promise<readonly ResolvedAddress[]> {
  return withinTime({ deadlines, ms: RESOLVE_WITHIN_MS }, (signal) =>
    Promise.race([names.resolve(host, { owner, signal }), rejectAtAbort(signal)]),
  ).catch(() => [])
}

interface Destination {
  readonly target: Target
  /** Null for a literal address. */
  readonly name: string | null
}

const MAX_DESTINATIONS = 1000

/** Returns a function that parses URLs and remembers the latest ones: most requests go to the same few. */
function createDestinations(): (url: string) => Destination {
  const known = new Map<string, Destination>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const url = new URL(text)
    const host = bare(url.hostname)
    const parsed = { target: targetOf(url), name: isIP(host) === 0 ? host : null }
    const [oldest] = known.keys()
    if (known.size >= MAX_DESTINATIONS && oldest !== undefined) known.delete(oldest)
    known.set(text, parsed)
    return parsed
  }
}

interface Sender {
  readonly connections: HttpConnections
  readonly names: NameResolver
  readonly deadlines: Deadlines
  readonly findDestination: (url: string) => Destination
}

async function send(sender: Sender, outbound: OutboundRequest): Promise<OutboundResult> {
  const { signal, timeoutMs } = outbound
  const endMs = sender.deadlines.nowMs() + timeoutMs
  try {
    const { target, name } = sender.findDestination(outbound.url)
    // The connection looks it up again, without its owner, and finds the cached answer.
    if (name !== null && !sender.names.isKnown(name)) await resolveFor(sender, name, outbound)
    return await sendTo(sender, { target, endMs }, outbound)
  } catch (error) {
    if (signal?.aborted === true) return { kind: 'aborted' }
    const text = sender.deadlines.nowMs() >= endMs ? lateText(timeoutMs) : describeError(error)
    return { kind: 'failed', error: text, remoteAddress: null }
  }
}

function sendTo(
  { connections, deadlines }: Sender,
  { target, endMs }: { readonly target: Target; readonly endMs: number },
  { method, common, headers, body, signal, mayArriveTwice = false, timeoutMs }: OutboundRequest,
): Promise<OutboundResult> {
  const request = { target, method, common, headers, body, endMs, signal, mayArriveTwice }
  return new Promise((resolve) => {
    dispatch({ connections, deadlines }, request, (result) => {
      if (result.kind !== 'failed') resolve(result)
      else resolve({ ...result, error: result.error === null ? lateText(timeoutMs) : describeError(result.error) })
    })
  })
}

/** Returns the error of a request that its time limit has ended. */
export function lateText(timeoutMs: number): string {
  return `no answer within ${timeoutMs} ms`
}

/** Resolves a name on behalf of the request's owner, until its time-out or its abort. */
async function resolveFor(
  { names, deadlines }: Pick<Sender, 'names' | 'deadlines'>,
  host: string,
  { owner, timeoutMs, signal }: OutboundRequest,
): Promise<void> {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  const stopListener = { handleEvent: stop }
  const deadline = deadlines.add(timeoutMs, { expire: stop })
  signal?.addEventListener('abort', stopListener)
  if (signal?.aborted === true) stop()
  try {
    const resolved = names.resolve(host, owner === undefined ? null : { owner, signal: stopping.signal })
    await Promise.race([resolved, rejectAtAbort(stopping.signal)])
  } finally {
    deadline.cancel()
    signal?.removeEventListener('abort', stopListener)
  }
}

function rejectAtAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(signal.reason)
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })
}
