import { coalesceReads } from '../../platform/database/coalesce.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { sha256Hex } from '../../platform/secrets.ts'
import { listClosedOrgs } from '../closed-orgs.ts'
import { isIdleTooLong } from './decide-token.ts'
import type { Principal } from '../principal.ts'
import { createAddressCheck } from './src-ips.ts'
import { type TokenAccess, accessByTokenKeys, tokenKeyOf } from './store.ts'
import type { TokenUses } from './token-uses.ts'

/** @param siteId The site that the path of the request names; null if it names none. */
export type AuthenticateToken = (key: string, srcIp: string, siteId: string | null) => Promise<Principal>

const invalidToken = () => new AppError('unauthenticated', 'Invalid token.')

/**
 * A token works only from its addresses, and no longer once it was unused for 90 days, whether or not the sweep has
 * deleted it yet.
 */
export function createAuthenticateToken(ctx: Context, uses: TokenUses): AuthenticateToken {
  const isWithin = createAddressCheck()
  const findAccess = accessByTokenKeys(ctx.hotDb)
  const findToken = coalesceReads(async (keys) => {
    const found = await findAccess(keys)
    return new Map([...found].map(([key, access]) => [key, { access, principal: principalOf(access) }]))
  })
  return async (key, srcIp, siteId) => {
    const found = await findToken(tokenKeyOf({ hexHash: sha256Hex(key), siteId }))
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
