import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import type { OauthProvider } from '../parts.ts'
import type { OauthClient } from './client.ts'
import { connectGithub } from './github-client.ts'
import { discoverOpenId } from './openid-client.ts'
import { reasonsOf } from './refusal.ts'

/** Providers change their metadata rarely, and announce it. */
const REFRESH_MS = 3600e3
/** With a provider that is down for longer, what it said about itself is not relied on any more. */
const KEEP_MS = 24 * 3600e3
/** A provider that is down is not asked by every request. */
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

/** Our clients of the configured providers; their metadata is kept and refreshed. */
export function createOauthClients(ctx: Context, providers: readonly OauthProvider[]): OauthClients {
  const byName = new Map(providers.map((provider) => [provider.name, createCachedClient(ctx, provider)]))
  return {
    async get(name) {
      const found = byName.get(name)
      if (found === undefined) throw notFound(name)
      return { provider: found.provider, client: await found.client() }
    },
  }
}

/** Whoever comes while metadata is fetched waits for the same answer. */
function createCachedClient(ctx: Context, provider: OauthProvider) {
  let known: CachedClient | null = null

  function refresh(now: Date, before: CachedClient | null): CachedClient {
    const client: Promise<OauthClient> = connect(provider).catch((error: unknown) => {
      ctx.log.warn({ provider: provider.name, why: reasonsOf(error) }, "a provider's metadata can't be had")
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

async function connect(provider: OauthProvider): Promise<OauthClient> {
  return provider.name === 'github' ? connectGithub(provider) : discoverOpenId(provider)
}
