import { coalesceReads } from '../../platform/database/coalesce.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { limitConcurrency } from '../../platform/queues/limit-concurrency.ts'
import { sha256 } from '../../platform/secrets.ts'
import { createAuthenticateToken } from './authenticate-token.ts'
import { parseAuthorization } from './authorization.ts'
import type { CheckPassword } from './check-password.ts'
import { guesserAt } from './login-throttle.ts'
import { listClosedOrgs } from '../closed-orgs.ts'
import { decideSession } from './decide-session.ts'
import type { Principal } from '../principal.ts'
import type { RequestLimits } from '../request-limits.ts'
import { createShortMemory } from './short-memory.ts'
import { type AdminAccess, type SessionAccess, accessBySessionHashes, findAccessByEmail } from './store.ts'
import type { TokenUses } from './token-uses.ts'
import { deleteSession, touchSession } from './store-sessions.ts'

/** The credentials of a request. */
export interface Credentials {
  readonly authorization: string | undefined
  readonly sessionId: string | undefined
  readonly csrfToken: string | undefined
  /** Address that the request came from. */
  readonly srcIp: string
  readonly userAgent: string | null
  /** True if the method may change something (not GET, HEAD, OPTIONS). */
  readonly unsafe: boolean
  /** True if a connection that has been let in is checked again: that is neither a call nor a use of a session. */
  readonly isRecheck?: boolean
  /** The site that the path names, a UUID: a token is read together with its organization. */
  readonly siteId?: string | undefined
  /** True if the operation needs the content of that site, which is then read as well. */
  readonly readsSite?: boolean
}

export interface AuthenticateParts {
  readonly checkPassword: CheckPassword
  /** Called for a wrong password of an account that exists. */
  readonly onWrongPassword: (access: AdminAccess, from: Pick<Credentials, 'srcIp' | 'userAgent'>) => void
  readonly tokenUses: TokenUses
  readonly requestLimits: RequestLimits
}

/**
 * Basic is checked before the caller is known. It takes its turn before it takes a database connection; otherwise a
 * flood would fill the queue for connections. A caller beyond the limit waits and is not refused, because an instant
 * refusal invites an instant retry. Callers whose password was right a moment ago don't wait behind those who guess.
 */
const basicTurns = { running: 2, waiting: 2000, refusal: 'Too Many Request. Too many logins at once.' }

/** @throws AppError unauthenticated; forbidden (a token from another address, a missing CSRF token); rate_limited. */
export type Authenticate = (credentials: Credentials) => Promise<Principal>

const noCredentials = () => new AppError('unauthenticated', 'Authentication credentials were not provided.')
const wrongCredentials = () => new AppError('unauthenticated', 'Invalid credentials.')

/**
 * Accepts a token, Basic or a session cookie; the Authorization header beats cookies. Source: spec, "Authentication",
 * 1, 2 and 5.
 */
export function createAuthenticate(ctx: Context, parts: AuthenticateParts): Authenticate {
  const { checkPassword, onWrongPassword, requestLimits } = parts
  const byToken = createAuthenticateToken(ctx, parts.tokenUses)
  // Requests that wait at the same time share one query, on connections that change nothing.
  const findSession = coalesceReads(accessBySessionHashes(ctx.hotDb))
  const inTurn = limitConcurrency(basicTurns)
  const rightBasics = createShortMemory()

  async function byPassword(login: string, { srcIp, userAgent }: Credentials): Promise<Principal> {
    const colon = login.indexOf(':')
    if (colon < 0 || login.includes('\0')) throw wrongCredentials()
    const email = login.slice(0, colon)
    const access = await findAccessByEmail(ctx.db, email)
    const passwordHash = access?.passwordHash ?? null
    const password = login.slice(colon + 1)
    const ok = await checkPassword({ email, passwordHash, password, guesser: guesserAt(srcIp), srcIp })
    if (!ok && access !== undefined) onWrongPassword(access, { srcIp, userAgent })
    // Basic has no room for a second factor, so a password alone must not be enough.
    if (!ok || access === undefined || access.hasSecondFactor) throw wrongCredentials()
    rightBasics.remember(login)
    const closedOrgs = listClosedOrgs(
      access,
      { isBySso: false, hasSecondFactor: false, passwordSetAt: access.passwordModifiedAt, idleOrgIds: [] },
      ctx.clock.now(),
    )
    return personPrincipal('basic', access, { sessionHash: null, secondFactor: 'none', closedOrgs })
  }

  async function bySession(sessionId: string, credentials: Credentials): Promise<Principal> {
    const sessionHash = sha256(sessionId)
    const access = await findSession(sessionHash.toString('hex'))
    if (access === undefined || access.expiresAt <= ctx.clock.now()) throw noCredentials()
    if (credentials.unsafe && !ctx.secrets.verify('csrf', sessionId, credentials.csrfToken ?? ''))
      throw new AppError('forbidden', 'CSRF Failed: CSRF token missing or incorrect.')
    const now = ctx.clock.now()
    const idleOrgIds = await useSession(sessionHash, access, { now, isRecheck: credentials.isRecheck === true })
    const { secondFactorMissing, secondFactorPassed, passwordAt, ...person } = access
    const { expiresAt: _, lastSeenAt: __, closedOrgIds: ___, ...rest } = person
    const secondFactor = secondFactorMissing ? 'missing' : secondFactorPassed ? 'passed' : 'none'
    const closedOrgs = listClosedOrgs(
      access,
      {
        isBySso: access.ssoId !== null,
        hasSecondFactor: secondFactorPassed,
        passwordSetAt: passwordAt === null ? null : access.passwordModifiedAt,
        idleOrgIds,
      },
      now,
    )
    return personPrincipal('session', rest, { sessionHash, secondFactor, closedOrgs })
  }

  /** @returns The organizations in which the session was idle for too long. @throws AppError unauthenticated. */
  async function useSession(
    sessionHash: Buffer,
    access: SessionAccess,
    { now, isRecheck }: { readonly now: Date; readonly isRecheck: boolean },
  ): Promise<readonly string[]> {
    const orgs = access.privileges.map(({ orgId, policy }) => ({ orgId, idleMinutes: policy?.idleMinutes ?? null }))
    const { kind, closedOrgIds } = decideSession(access, orgs, now)
    if (kind === 'touch' && !isRecheck)
      await inTx(ctx, (tx) => touchSession(tx, sessionHash, { at: now, closedOrgIds }))
    if (kind !== 'ended') return closedOrgIds
    await inTx(ctx, (tx) => deleteSession(tx, sessionHash))
    throw noCredentials()
  }

  async function identify(credentials: Credentials): Promise<Principal> {
    const { authorization, sessionId } = credentials
    if (authorization !== undefined) {
      const { scheme, value } = parseAuthorization(authorization) ?? {}
      if (value === undefined) throw noCredentials()
      if (scheme === 'token') return byToken(value, credentials)
      const prove = () => byPassword(value, credentials)
      return rightBasics.remembers(value) ? prove() : inTurn(prove)
    }
    if (sessionId !== undefined) return bySession(sessionId, credentials)
    throw noCredentials()
  }

  return async (credentials) => {
    const principal = await identify(credentials)
    if (credentials.isRecheck !== true) await requestLimits.take(principal)
    return principal
  }
}

function personPrincipal(
  via: 'basic' | 'session',
  { passwordHash: _, ...access }: AdminAccess,
  session: Pick<Principal, 'sessionHash' | 'secondFactor' | 'closedOrgs'>,
): Principal {
  return { via, tokenId: null, tokenName: '', site: null, ...access, ...session }
}
