import { randomBytes } from 'node:crypto'
import type { Actor, AdminScope } from '../../access/scope.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { appendAccountChange } from '../account-log.ts'
import {
  deleteExpiredSessions,
  deleteSessionsBeyond,
  findSessionMinutes,
  getActorName,
  insertSession,
} from './store.ts'

/** The interface's default for the `session_expiry` of an organization. */
export const DEFAULT_SESSION_MINUTES = 1440
/** The time in which the second factor must be given. */
const HALF_SESSION_MINUTES = 15

export interface SessionRequest {
  readonly actor: Pick<Actor, 'srcIp' | 'userAgent'>
  /** `missing` if the enrolled second factor has not been given yet, or if the account must enroll one first. */
  readonly secondFactor: 'none' | 'missing' | 'passed'
  /** True if the password was just given: operations that require it are then allowed for a few minutes. */
  readonly byPassword?: boolean
  /** The SSO that opens the session, and the identity provider's name for the session. */
  readonly sso?: { readonly ssoId: string; readonly ssoSession: string }
  /** The OAuth provider that identified the person. */
  readonly oauthProvider?: string
}

export interface OpenedSession {
  /** The value of the cookie. The database stores its hash. */
  readonly sessionId: string
  readonly csrfToken: string
  readonly expiresAt: Date
}

/**
 * Opens a session with a new id, whatever cookies the request had. It becomes valid when the caller's transaction
 * commits and lasts as long as the strictest of the admin's organizations allows. The caller has locked the account.
 */
export async function openSession(
  ctx: Context,
  tx: Tx,
  scope: AdminScope,
  request: SessionRequest,
): Promise<OpenedSession> {
  const { actor, secondFactor, byPassword = false, sso } = request
  const now = ctx.clock.now()
  const sessionId = randomBytes(32).toString('base64url')
  const idHash = sha256(sessionId)
  const secondFactorMissing = secondFactor === 'missing'
  await deleteExpiredSessions(tx, now)
  const expiresAt = secondFactorMissing ? addMs(now, HALF_SESSION_MINUTES * 60_000) : await sessionEnd(tx, scope, now)
  await insertSession(tx, scope, {
    idHash,
    createdAt: now,
    expiresAt,
    secondFactorMissing,
    secondFactorPassed: secondFactor === 'passed',
    ssoId: sso?.ssoId ?? null,
    ssoSession: sso?.ssoSession ?? null,
    lastSeenAt: now,
    passwordAt: byPassword ? now : null,
    provedAt: now,
    srcIp: actor.srcIp,
    userAgent: actor.userAgent,
  })
  await endSessionsBeyond(ctx, tx, scope, { idHash, actor, secondFactorMissing })
  // Completing the login later does not record the provider with which it began.
  if (secondFactor !== 'missing' || request.oauthProvider !== undefined)
    await recordLogin(tx, scope, { ...request, at: now })
  return sessionOf(ctx, sessionId, expiresAt)
}

export interface LastOpened {
  readonly idHash: Buffer
  readonly actor: Pick<Actor, 'srcIp' | 'userAgent'>
  readonly secondFactorMissing: boolean
}

/**
 * Ends the account's sessions beyond the limit, so that signing in always succeeds. The caller has locked the account.
 *
 * @param opened The session that was just opened, or whose second factor was just passed. It stays.
 */
export async function endSessionsBeyond(
  ctx: Context,
  tx: Tx,
  scope: AdminScope,
  { actor, ...opened }: LastOpened,
): Promise<void> {
  const { adminId } = scope
  const now = ctx.clock.now()
  const max = ctx.limits.sessionsPerAccount
  const ended = await deleteSessionsBeyond(tx, scope, { ...opened, max, now })
  if (ended === 0 || opened.secondFactorMissing) return
  const by = { adminId, name: await getActorName(tx, scope), ...actor }
  const message = `End sessions beyond ${max}, unused for longest`
  await appendAccountChange(tx, { adminId, actor: by, message, before: { sessions: ended }, at: now })
}

/** Returns the cookie values of a session. */
export function sessionOf(ctx: Context, sessionId: string, expiresAt: Date): OpenedSession {
  return { sessionId, csrfToken: ctx.secrets.sign('csrf', sessionId), expiresAt }
}

/** Returns when a session that starts at `now` ends. */
export async function sessionEnd(tx: Tx, scope: AdminScope, now: Date): Promise<Date> {
  const minutes = (await findSessionMinutes(tx, scope)) ?? DEFAULT_SESSION_MINUTES
  return addMs(now, minutes * 60_000)
}

const twoFactor = { none: '', passed: ' with two factor', missing: ', two factor still missing' } as const

/** Records a login, or its first half. */
export async function recordLogin(
  tx: Tx,
  scope: AdminScope,
  { actor, secondFactor, sso, oauthProvider, at }: SessionRequest & { readonly at: Date },
): Promise<void> {
  const { adminId } = scope
  const name = await getActorName(tx, scope)
  const how =
    oauthProvider !== undefined ? ` by OAuth: ${oauthProvider}` : sso === undefined ? '' : ' by single sign-on'
  const message = `Login${how}${twoFactor[secondFactor]}`
  await appendAccountChange(tx, { adminId, actor: { adminId, name, ...actor }, message, at })
}
