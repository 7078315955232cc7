import type { Context } from '../../platform/context.ts'
import type { AccountParts, AccountSettings } from '../parts.ts'
import { type OauthClients, createOauthClients } from './providers/clients.ts'

/** The cookie that binds a login to its browser. */
export const FLOW_COOKIE = 'oauth_flow'

/** The dependencies of the operations besides the context. */
export interface Oauth {
  readonly clients: OauthClients
  readonly settings: AccountSettings
}

export function createOauth(ctx: Context, parts: Pick<AccountParts, 'settings' | 'operatorHttp'>): Oauth {
  return { clients: createOauthClients(ctx, parts), settings: parts.settings }
}

/** The callback URL that the operator registers at the provider. */
export function redirectUri({ baseUrl }: Context, provider: string): string {
  return `${baseUrl}/oauth/${provider}/callback`
}
