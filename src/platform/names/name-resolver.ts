import type { RecordWithTtl } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { join } from 'node:path'
import { createFailedAddresses } from './failed-addresses.ts'
import { type ResolvedAddress, findLoopback, parseHosts } from './hosts.ts'
import { type Asker, limitPerOwner } from './limit-per-owner.ts'
import { rereadFile } from './reread-file.ts'
import { type SearchDomains, listCandidates, parseSearchDomains } from './search-domains.ts'

export interface NameResolverOptions {
  /** Name servers as `address:port`; those of the system by default. */
  readonly servers?: readonly string[]
  readonly hostsFile?: string
  readonly resolvConf?: string
  /** Monotonic. */
  readonly nowMs?: () => number
  /** For all queries of one look-up together: both families, every search domain, every name server. */
  readonly limitMs?: number
}

export interface NameResolver {
  /**
   * Returns all addresses of a name, IPv4 first, and last those that have failed; never an empty list.
   * @param asker An owner has only a few look-ups in progress, the others wait for them. Null: no limit.
   * @throws Error with a sentence for people, or the reason of the signal.
   */
  resolve(name: string, asker: Asker | null): Promise<readonly ResolvedAddress[]>
  /** True if resolve() would return addresses without asking a name server. */
  isKnown(name: string): boolean
  /** Must be called with the addresses of a name that could not be connected to, while another one could. */
  noteFailed(name: string, addresses: readonly string[]): void
  /** Ends the look-ups in progress. */
  close(): void
}

const LIMIT_MS = 2000
const MAX_PER_OWNER = 8
/** The time for which an answer may be cached, as the name server gives it, is limited to this range. */
const MIN_KEPT_MS = 1000
const MAX_KEPT_MS = 300_000
const FAILURE_KEPT_MS = 5000
const MAX_KEPT = 5000
/** The code of c-ares. */
const TIMEOUT = 'ETIMEOUT'

const systemHostsFile =
  process.platform === 'win32'
    ? join(process.env['SystemRoot'] ?? String.raw`C:\Windows`, String.raw`System32\drivers\etc\hosts`)
    : '/etc/hosts'

interface Kept {
  readonly untilMs: number
  /** The addresses, or the reason why there are none. */
  readonly result: readonly ResolvedAddress[] | string
}

/**
 * Resolves names without the system's resolver, whose few threads a silent name server can block for all requests. It
 * reads the hosts file first, knows `localhost`, completes names by the search domains of resolv.conf, and reads both
 * files again when they change.
 */
export function createNameResolver(options: NameResolverOptions = {}): NameResolver {
  const {
    servers,
    hostsFile = systemHostsFile,
    resolvConf = '/etc/resolv.conf',
    nowMs = () => performance.now(),
    limitMs = LIMIT_MS,
  } = options
  const hosts = rereadFile(hostsFile, parseHosts, nowMs)
  // The resolver reads the name servers of the system when it is created.
  const client = rereadFile(
    resolvConf,
    (text) => ({ resolver: openResolver(servers, limitMs), search: parseSearchDomains(text) }),
    nowMs,
  )
  const limit = limitPerOwner(MAX_PER_OWNER)
  const kept = new Map<string, Kept>()
  const failed = createFailedAddresses(nowMs)
  const underWay = new Map<string, Promise<Kept>>()

  function findKept(name: string): Kept | undefined {
    const found = kept.get(name)
    return found !== undefined && nowMs() < found.untilMs ? found : undefined
  }

  function lookUp(name: string): Promise<Kept> {
    const running = underWay.get(name)
    if (running !== undefined) return running
    const { resolver, search } = client()
    const started = query(resolver, name, { search, limitMs })
      .then(({ result, keepMs }) => {
        const [oldest] = kept.keys()
        if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
        const found = { result, untilMs: nowMs() + keepMs }
        kept.delete(name)
        kept.set(name, found)
        return found
      })
      .finally(() => underWay.delete(name))
    underWay.set(name, started)
    return started
  }

  function findLocal(name: string): readonly ResolvedAddress[] | undefined {
    const bare = name.replace(/\.$/, '')
    return hosts().get(bare) ?? findLoopback(bare)
  }

  return {
    isKnown(given) {
      const name = given.toLowerCase()
      return findLocal(name) !== undefined || typeof (findKept(name)?.result ?? '') !== 'string'
    },
    async resolve(given, asker) {
      const name = given.toLowerCase()
      const local = findLocal(name)
      if (local !== undefined) return failed.putLast(name, local)
      const { result } =
        findKept(name) ??
        (await (asker === null ? lookUp(name) : limit(asker, async () => findKept(name) ?? lookUp(name))))
      if (typeof result === 'string') throw new Error(result)
      return failed.putLast(name, result)
    },
    noteFailed: (name, addresses) => failed.add(name.toLowerCase(), addresses),
    close: () => client().resolver.cancel(),
  }
}

function openResolver(servers: readonly string[] | undefined, limitMs: number): Resolver {
  const count = servers?.length ?? new Resolver().getServers().length
  // c-ares turns to the next server after one to two time-outs, and the last one needs time to answer as well.
  const timeout = count > 1 ? Math.ceil(limitMs / (2 * count)) : limitMs
  const resolver = new Resolver({ timeout, maxTimeout: timeout, tries: 1 })
  if (servers !== undefined) resolver.setServers(servers)
  return resolver
}

/**
 * The text for a name without an address and for one with an address that may not be called. Different texts would
 * reveal which names the operator's network has.
 */
export function noPublicAddress(name: string): string {
  return `The name ${name} has no public address`
}

interface Answer {
  readonly result: readonly ResolvedAddress[] | string
  readonly keepMs: number
}

interface QueryOptions {
  readonly search: SearchDomains
  readonly limitMs: number
}

async function query(resolver: Resolver, name: string, { search, limitMs }: QueryOptions): Promise<Answer> {
  const deadline = startDeadline(limitMs)
  try {
    for (const candidate of listCandidates(name, search)) {
      const answers = await Promise.allSettled([
        Promise.race([resolver.resolve4(candidate, { ttl: true }), deadline.passed]),
        Promise.race([resolver.resolve6(candidate, { ttl: true }), deadline.passed]),
      ])
      const answer = combine(name, answers)
      if (answer !== null) return answer
    }
  } finally {
    deadline.clear()
  }
  return { result: noPublicAddress(name), keepMs: FAILURE_KEPT_MS }
}

/**
 * c-ares can't cancel a single query: one that is in progress at the deadline runs into its own time-out, and its
 * result is ignored.
 */
function startDeadline(limitMs: number): { readonly passed: Promise<never>; clear(): void } {
  const { promise: passed, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(Object.assign(new Error('too late'), { code: TIMEOUT })), limitMs)
  return { passed, clear: () => clearTimeout(timer) }
}

type Family = PromiseSettledResult<readonly RecordWithTtl[]>

/** Null if the name does not exist. The addresses of one family are enough where the other one is not answered. */
function combine(name: string, answers: readonly [Family, Family]): Answer | null {
  const records = answers.flatMap((answer, index) =>
    answer.status === 'rejected'
      ? []
      : answer.value.map(({ address, ttl }) => ({ address, ttl, family: index === 0 ? 4 : 6 }) as const),
  )
  if (records.length > 0) {
    const keepMs = Math.min(...records.map(({ ttl }) => ttl * 1000), MAX_KEPT_MS)
    return {
      result: records.map(({ address, family }) => ({ address, family })),
      keepMs: Math.max(keepMs, MIN_KEPT_MS),
    }
  }
  const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : 'ENODATA'))
  const failure = codes.find((code) => code !== 'ENOTFOUND' && code !== 'ENODATA')
  return failure === undefined ? null : { result: explain(name, failure), keepMs: FAILURE_KEPT_MS }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

function explain(name: string, code: string): string {
  if (code === TIMEOUT) return `The name ${name} could not be resolved: no name server answered in time`
  return `The name ${name} could not be resolved: ${code}`
}
