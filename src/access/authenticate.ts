import type { Context } from '../platform/context.ts'
import { coalesceReads } from '../platform/coalesce.ts'
import { AppError } from '../platform/errors.ts'
import { sha256, sha256Hex } from '../platform/secrets.ts'
import type { Passwords } from './password.ts'
import type { Principal } from './principal.ts'
import { type AdminAccess, findAccessByEmail, findAccessBySession, findAccessByTokenHashes } from './store.ts'

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
    return new Map([...found].map(([hash, access]) => [hash, principal('token', access)]))
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
    if (!ok || access === undefined) throw wrongCredentials()
    return principal('basic', access)
  }

  async function bySession(sessionId: string, credentials: Credentials): Promise<Principal> {
    const access = await findAccessBySession(ctx.db, sha256(sessionId), ctx.clock.now())
    if (access === undefined) throw noCredentials()
    if (credentials.unsafe && !ctx.secrets.verify('csrf', sessionId, credentials.csrfToken ?? ''))
      throw new AppError('forbidden', 'CSRF Failed: CSRF token missing or incorrect.')
    return principal('session', access)
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

function principal(via: Principal['via'], access: AdminAccess): Principal {
  const { passwordHash: _, ...rest } = access
  return { via, ...rest }
}
