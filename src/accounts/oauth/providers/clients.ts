import { addMs } from '../../../platform/time/clock.ts'
import type { Context } from '../../../platform/context.ts'
import { notFound } from '../../../platform/errors.ts'
import type { AccountParts, OauthProvider } from '../../parts.ts'
import type { OauthClient } from './client.ts'
import { type FetchBounded, createFetchBounded } from './fetch-bounded.ts'
import { connectGithub } from './github-client.ts'
import { discoverOpenId } from './openid-client.ts'
import { reasonsOf } from './refusal.ts'

/** Providers change their metadata rarely, and announce it. */
const REFRESH_MS = 3600e3
/** If a provider is down for longer, its cached metadata is no longer used. */
const KEEP_MS = 24 * 3600e3
/** How long to wait before asking a provider again that is down. */
const RETRY_MS = 10_000

export interface OauthClients {
  /** @throws AppError not_found for a provider that is not configured; else as OauthClient. */
  get(name: string): Promise<{ readonly provider: OauthProvider; readonly client: OauthClient }>
}

interface CachedClient {
  readonly client: Promise<OauthClient>
  readonly staleAt: Date
  readonly endsAt: Date
}

/** Creates the clients of the configured providers, and caches and refreshes their metadata. */
export function createOauthClients(
  ctx: Context,
  { settings, operatorHttp }: Pick<AccountParts, 'settings' | 'operatorHttp'>,
): OauthClients {
  const fetchBounded = createFetchBounded(operatorHttp)
  const byName = new Map(
    settings.oauthProviders.map((provider) => [
      provider.name,
      createCachedClient(ctx, provider, () => connect(provider, fetchBounded)),
    ]),
  )
  return {
    async get(name) {
      const found = byName.get(name)
      if (found === undefined) throw notFound(name)
      return { provider: found.provider, client: await found.client() }
    },
  }
}

/** Calls during a fetch of the metadata share its result. */
function createCachedClient(ctx: Context, provider: OauthProvider, connect: () => Promise<OauthClient>) {
  let known: CachedClient | null = null

  function refresh(now: Date, before: CachedClient | null): CachedClient {
    const client: Promise<OauthClient> = connect().catch((error: unknown) => {
      ctx.log.warn({ provider: provider.name, why: reasonsOf(error) }, 'could not fetch the metadata of a provider')
      const usable = before !== null && before.endsAt > now ? before : null
      const retryAt = addMs(now, RETRY_MS)
      known = { client: usable?.client ?? client, staleAt: retryAt, endsAt: usable?.endsAt ?? retryAt }
      if (usable !== null) return usable.client
      throw error
    })
    return { client, staleAt: addMs(now, REFRESH_MS), endsAt: addMs(now, KEEP_MS) }
  }

  return {
    provider,
    client(): Promise<OauthClient> {
      const now = ctx.clock.now()
      if (known === null || known.staleAt <= now) known = refresh(now, known)
      return known.client
    },
  }
}

async function connect(provider: OauthProvider, fetchBounded: FetchBounded): Promise<OauthClient> {
  return provider.name === 'github' ? connectGithub(provider, fetchBounded) : discoverOpenId(provider, fetchBounded)
}
