import type { Context } from '../../platform/context.ts'
import type { AccountSettings } from '../parts.ts'
import { type OauthClients, createOauthClients } from './clients.ts'

/** Binds a login that is under way to its browser. */
export const FLOW_COOKIE = 'oauth_flow'

/** What the operations need besides the context. */
export interface Oauth {
  readonly clients: OauthClients
  readonly settings: AccountSettings
}

export function createOauth(ctx: Context, settings: AccountSettings): Oauth {
  return { clients: createOauthClients(ctx, settings.oauthProviders), settings }
}

/** One a provider: the address that the operator registers there. */
export function redirectUri({ baseUrl }: Context, provider: string): string {
  return `${baseUrl}/oauth/${provider}/callback`
}
