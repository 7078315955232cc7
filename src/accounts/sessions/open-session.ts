import { randomBytes } from 'node:crypto'
import type { Actor } from '../../access/scope.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { deleteExpiredSessions, findSessionMinutes, insertSession } from './store.ts'

/** The interface's default for an organization's `session_expiry`. */
const DEFAULT_SESSION_MINUTES = 1440

export interface SessionRequest {
  readonly adminId: string
  readonly actor: Pick<Actor, 'srcIp' | 'userAgent'>
  /** `missing`: the account has one enrolled, and it is still to be given. */
  readonly secondFactor: 'none' | 'missing' | 'passed'
  /** Of a session that an identity provider opens. */
  readonly sso?: { readonly ssoId: string; readonly ssoSession: string }
}

export interface OpenedSession {
  /** The cookie's value; only its hash is stored. */
  readonly sessionId: string
  readonly csrfToken: string
  readonly expiresAt: Date
}

/**
 * Opens a session with an id of its own, whatever cookies the request had; it counts once the caller's
 * transaction commits. It lasts as long as the strictest of the admin's organizations says.
 */
export async function openSession(ctx: Context, tx: Tx, request: SessionRequest): Promise<OpenedSession> {
  const { adminId, actor, secondFactor, sso } = request
  const now = ctx.clock.now()
  const sessionId = randomBytes(32).toString('base64url')
  await deleteExpiredSessions(tx, now)
  const minutes = (await findSessionMinutes(tx, adminId)) ?? DEFAULT_SESSION_MINUTES
  const expiresAt = addMs(now, minutes * 60_000)
  await insertSession(tx, {
    idHash: sha256(sessionId),
    adminId,
    createdAt: now,
    expiresAt,
    secondFactorMissing: secondFactor === 'missing',
    secondFactorPassed: secondFactor === 'passed',
    ssoId: sso?.ssoId ?? null,
    ssoSession: sso?.ssoSession ?? null,
    lastSeenAt: now,
    srcIp: actor.srcIp,
    userAgent: actor.userAgent,
  })
  return { sessionId, csrfToken: ctx.secrets.sign('csrf', sessionId), expiresAt }
}
