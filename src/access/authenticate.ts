import type { Context } from '../platform/context.ts'
import { coalesceReads } from '../platform/coalesce.ts'
import { AppError } from '../platform/errors.ts'
import { sha256, sha256Hex } from '../platform/secrets.ts'
import type { Passwords } from './password.ts'
import type { Principal } from './principal.ts'
import {
  type AdminAccess,
  type TokenAccess,
  findAccessByEmail,
  findAccessBySession,
  findAccessByTokenHashes,
} from './store.ts'

/** What a request brings to prove who sends it. */
export interface Credentials {
  readonly authorization: string | undefined
  readonly sessionId: string | undefined
  readonly csrfToken: string | undefined
  /** Whether the method may change something (not GET, HEAD, OPTIONS). */
  readonly unsafe: boolean
}

export type Authenticate = (credentials: Credentials) => Promise<Principal>

const noCredentials = () => new AppError('unauthenticated', 'Authentication credentials were not provided.')
const wrongCredentials = () => new AppError('unauthenticated', 'Invalid credentials.')

/**
 * Token, Basic or session cookie; the Authorization header beats cookies.
 * Source: spec, "Authentication", 1, 2 and 5.
 */
export function createAuthenticate(ctx: Context, passwords: Passwords): Authenticate {
  const principalByToken = coalesceReads(async (hashes) => {
    const found = await findAccessByTokenHashes(ctx.db, hashes)
    return new Map([...found].map(([hash, access]) => [hash, tokenPrincipal(access)]))
  })

  async function byToken(key: string): Promise<Principal> {
    const found = await principalByToken(sha256Hex(key))
    if (found === undefined) throw new AppError('unauthenticated', 'Invalid token.')
    return found
  }

  async function byPassword(encoded: string): Promise<Principal> {
    const plain = Buffer.from(encoded, 'base64').toString('utf8')
    const colon = plain.indexOf(':')
    if (colon < 0 || plain.includes('\0')) throw wrongCredentials()
    const access = await findAccessByEmail(ctx.db, plain.slice(0, colon).trim().toLowerCase())
    const ok = await passwords.matches(access?.passwordHash ?? null, plain.slice(colon + 1))
    // A second factor can't be given here, so a password alone must not do.
    if (!ok || access === undefined || access.hasSecondFactor) throw wrongCredentials()
    return personPrincipal('basic', access, { sessionHash: null, secondFactor: 'none' })
  }

  async function bySession(sessionId: string, credentials: Credentials): Promise<Principal> {
    const sessionHash = sha256(sessionId)
    const access = await findAccessBySession(ctx.db, sessionHash, ctx.clock.now())
    if (access === undefined) throw noCredentials()
    if (credentials.unsafe && !ctx.secrets.verify('csrf', sessionId, credentials.csrfToken ?? ''))
      throw new AppError('forbidden', 'CSRF Failed: CSRF token missing or incorrect.')
    const { secondFactorMissing, secondFactorPassed, lastSeenAt: _, ...rest } = access
    const secondFactor = secondFactorMissing ? 'missing' : secondFactorPassed ? 'passed' : 'none'
    return personPrincipal('session', rest, { sessionHash, secondFactor })
  }

  return async (credentials) => {
    const { authorization, sessionId } = credentials
    if (authorization !== undefined) {
      const [scheme = '', value = ''] = authorization.trim().split(/\s+/, 2)
      if (/^token$/i.test(scheme) && value !== '') return byToken(value)
      if (/^basic$/i.test(scheme) && value !== '') return byPassword(value)
      throw noCredentials()
    }
    if (sessionId !== undefined) return bySession(sessionId, credentials)
    throw noCredentials()
  }
}

function personPrincipal(
  via: 'basic' | 'session',
  { passwordHash: _, ...access }: AdminAccess,
  session: Pick<Principal, 'sessionHash' | 'secondFactor'>,
): Principal {
  return { via, tokenId: null, tokenName: '', ...access, ...session }
}

function tokenPrincipal({ srcIps: _, createdAt: __, lastUsedAt: ___, ...access }: TokenAccess): Principal {
  const via = access.adminId === null ? 'org_token' : 'token'
  return { via, ...access, sessionHash: null, secondFactor: 'none' }
}
