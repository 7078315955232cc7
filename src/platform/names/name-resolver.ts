import { Resolver } from 'node:dns/promises'
import { join } from 'node:path'
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
}

export interface NameResolver {
  /**
   * All addresses of a name, IPv4 first; never an empty list.
   *
   * @param asker An owner has only a few look-ups under way, the others wait for them. Null: no limit.
   * @throws Error with a sentence for people, or the reason of the signal.
   */
  resolve(name: string, asker: Asker | null): Promise<readonly ResolvedAddress[]>
  /** Ends the look-ups under way. */
  close(): void
}

/** For one query to one name server. */
const QUERY_TIMEOUT_MS = 2000
const MAX_PER_OWNER = 8
/** What a name server says of how long its answer may be kept is kept to within these bounds. */
const MIN_KEPT_MS = 1000
const MAX_KEPT_MS = 300_000
const FAILURE_KEPT_MS = 5000
const MAX_KEPT = 5000

const systemHostsFile =
  process.platform === 'win32'
    ? join(process.env['SystemRoot'] ?? String.raw`C:\Windows`, String.raw`System32\drivers\etc\hosts`)
    : '/etc/hosts'

interface Kept {
  readonly untilMs: number
  /** A sentence where there are none. */
  readonly result: readonly ResolvedAddress[] | string
}

/**
 * Resolves names without the system's resolver, whose few threads a silent name server can keep busy for
 * everybody. Looks into the hosts file first, knows `localhost`, completes names by the search domains of
 * resolv.conf, and reads both files again when they change.
 */
export function createNameResolver(options: NameResolverOptions = {}): NameResolver {
  const {
    servers,
    hostsFile = systemHostsFile,
    resolvConf = '/etc/resolv.conf',
    nowMs = () => performance.now(),
  } = options
  const hosts = rereadFile(hostsFile, parseHosts, nowMs)
  // The resolver reads the name servers of the system when it is made.
  const client = rereadFile(
    resolvConf,
    (text) => ({ resolver: openResolver(servers), search: parseSearchDomains(text) }),
    nowMs,
  )
  const limit = limitPerOwner(MAX_PER_OWNER)
  const kept = new Map<string, Kept>()
  const underWay = new Map<string, Promise<Kept>>()

  function findKept(name: string): Kept | undefined {
    const found = kept.get(name)
    return found !== undefined && nowMs() < found.untilMs ? found : undefined
  }

  function lookUp(name: string): Promise<Kept> {
    const running = underWay.get(name)
    if (running !== undefined) return running
    const { resolver, search } = client()
    const started = query(resolver, name, search)
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

  return {
    async resolve(given, asker) {
      const name = given.toLowerCase()
      const bare = name.replace(/\.$/, '')
      const local = hosts().get(bare) ?? findLoopback(bare)
      if (local !== undefined) return local
      const { result } =
        findKept(name) ??
        (await (asker === null ? lookUp(name) : limit(asker, async () => findKept(name) ?? lookUp(name))))
      if (typeof result === 'string') throw new Error(result)
      return result
    },
    close: () => client().resolver.cancel(),
  }
}

function openResolver(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: 1 })
  if (servers !== undefined) resolver.setServers(servers)
  return resolver
}

interface Answer {
  readonly result: readonly ResolvedAddress[] | string
  readonly keepMs: number
}

async function query(resolver: Resolver, name: string, search: SearchDomains): Promise<Answer> {
  for (const candidate of listCandidates(name, search)) {
    const answers = await Promise.allSettled([
      resolver.resolve4(candidate, { ttl: true }),
      resolver.resolve6(candidate, { ttl: true }),
    ])
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
    if (failure !== undefined) return { result: explain(name, failure), keepMs: FAILURE_KEPT_MS }
  }
  return { result: `The name ${name} has no address`, keepMs: FAILURE_KEPT_MS }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

function explain(name: string, code: string): string {
  if (code === 'ETIMEOUT') return `The name ${name} could not be resolved: no name server answered in time`
  return `The name ${name} could not be resolved: ${code}`
}
