import { randomBytes } from 'node:crypto'
import type { Actor, AdminScope } from '../../access/scope.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { appendAccountChange } from '../account-log.ts'
import { deleteExpiredSessions, findSessionMinutes, getActorName, insertSession } from './store.ts'

/** The interface's default for an organization's `session_expiry`. */
export const DEFAULT_SESSION_MINUTES = 1440
/** Time for the second factor. */
const HALF_SESSION_MINUTES = 15

export interface SessionRequest {
  readonly actor: Pick<Actor, 'srcIp' | 'userAgent'>
  /** `missing`: the account has one enrolled, and it is still to be given; or it must enrol one first. */
  readonly secondFactor: 'none' | 'missing' | 'passed'
  /** The password was given just now, so what needs the password is open for a few minutes. */
  readonly byPassword?: boolean
  /** Of a session that an identity provider opens. */
  readonly sso?: { readonly ssoId: string; readonly ssoSession: string }
  /** The OAuth provider that said who it is. */
  readonly oauthProvider?: string
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
export async function openSession(
  ctx: Context,
  tx: Tx,
  scope: AdminScope,
  request: SessionRequest,
): Promise<OpenedSession> {
  const { actor, secondFactor, byPassword = false, sso } = request
  const now = ctx.clock.now()
  const sessionId = randomBytes(32).toString('base64url')
  await deleteExpiredSessions(tx, now)
  const expiresAt =
    secondFactor === 'missing' ? addMs(now, HALF_SESSION_MINUTES * 60_000) : await sessionEnd(tx, scope, now)
  await insertSession(tx, scope, {
    idHash: sha256(sessionId),
    createdAt: now,
    expiresAt,
    secondFactorMissing: secondFactor === 'missing',
    secondFactorPassed: secondFactor === 'passed',
    ssoId: sso?.ssoId ?? null,
    ssoSession: sso?.ssoSession ?? null,
    lastSeenAt: now,
    passwordAt: byPassword ? now : null,
    provedAt: now,
    srcIp: actor.srcIp,
    userAgent: actor.userAgent,
  })
  // Who completes the login later does not know by which provider it was begun.
  if (secondFactor !== 'missing' || request.oauthProvider !== undefined)
    await recordLogin(tx, scope, { ...request, at: now })
  return sessionOf(ctx, sessionId, expiresAt)
}

/** What the browser keeps of a session. */
export function sessionOf(ctx: Context, sessionId: string, expiresAt: Date): OpenedSession {
  return { sessionId, csrfToken: ctx.secrets.sign('csrf', sessionId), expiresAt }
}

/** When a session that counts from now on ends. */
export async function sessionEnd(tx: Tx, scope: AdminScope, now: Date): Promise<Date> {
  const minutes = (await findSessionMinutes(tx, scope)) ?? DEFAULT_SESSION_MINUTES
  return addMs(now, minutes * 60_000)
}

const twoFactor = { none: '', passed: ' with two factor', missing: ', two factor still missing' } as const

/** A login, or its first half. */
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
