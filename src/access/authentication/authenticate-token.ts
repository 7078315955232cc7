import { coalesceReads } from '../../platform/database/coalesce.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { UnreadableDocumentError } from '../../platform/sealing/document-codec.ts'
import { sha256Hex } from '../../platform/secrets.ts'
import { listClosedOrgs } from '../closed-orgs.ts'
import { isIdleTooLong } from './decide-token.ts'
import type { Principal } from '../principal.ts'
import { createAddressCheck } from './src-ips.ts'
import { type TokenAccess, accessByTokenKeys, tokenKeyOf } from './store.ts'
import type { TokenUses } from './token-uses.ts'

export type AuthenticateToken = (key: string, request: TokenRequest) => Promise<Principal>

/** See Credentials. */
interface TokenRequest {
  readonly srcIp: string
  readonly siteId?: string | undefined
  readonly readsSite?: boolean
}

const invalidToken = () => new AppError('unauthenticated', 'Invalid token.')

/**
 * A token works only from its addresses, and no longer once it was unused for 90 days, whether or not the sweep has
 * deleted it yet.
 */
export function createAuthenticateToken(ctx: Context, uses: TokenUses): AuthenticateToken {
  const isWithin = createAddressCheck()
  const { findAccess, findAccessAndSite } = accessByTokenKeys(ctx.hotDb)
  const findToken = coalesceReads(async (keys) => withPrincipals(await findAccess(keys)))
  const findTokenAndSite = coalesceReads(async (keys) => withPrincipals(await findAccessAndSite(keys)))

  /** A document that can't be read must not fail the requests of others, which share the query. */
  async function find(tokenKey: string, readsSite: boolean): Promise<FoundToken | undefined> {
    if (!readsSite) return findToken(tokenKey)
    return findTokenAndSite(tokenKey).catch((error: unknown) => {
      if (!(error instanceof UnreadableDocumentError)) throw error
      return findToken(tokenKey)
    })
  }

  return async (key, { srcIp, siteId = null, readsSite = false }) => {
    const found = await find(tokenKeyOf({ hexHash: sha256Hex(key), siteId }), readsSite && siteId !== null)
    if (found === undefined) throw invalidToken()
    const { access, principal } = found
    const now = ctx.clock.now()
    if (isIdleTooLong(access, now)) throw invalidToken()
    const { srcIps } = access
    if (srcIps !== null && srcIps.length > 0 && !isWithin(srcIps, srcIp))
      throw new AppError('forbidden', 'The token may not be used from this address')
    uses.record(access, now)
    if (principal.via === 'org_token' || principal.privileges.every(({ policy }) => policy === null)) return principal
    const { totpSince, createdAt, ssoId } = access
    const signIn = {
      isBySso: ssoId !== null,
      hasSecondFactor: totpSince !== null && totpSince < createdAt,
      passwordSetAt: null,
      idleOrgIds: [],
    }
    return { ...principal, closedOrgs: listClosedOrgs(principal, signIn, now) }
  }
}

interface FoundToken {
  readonly access: TokenAccess
  readonly principal: Principal
}

function withPrincipals(found: ReadonlyMap<string, TokenAccess>): Map<string, FoundToken> {
  return new Map([...found].map(([key, access]) => [key, { access, principal: principalOf(access) }]))
}

function principalOf({
  srcIps: _,
  createdAt: __,
  lastUsedAt: ___,
  totpSince: ____,
  ...access
}: TokenAccess): Principal {
  const via = access.adminId === null ? 'org_token' : 'token'
  return { via, ...access, sessionHash: null, secondFactor: 'none', closedOrgs: new Map() }
}
