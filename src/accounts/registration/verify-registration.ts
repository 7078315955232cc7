import { uuidv7 } from '../../platform/uuidv7.ts'
import { actorName } from '../../access/principal.ts'
import { type Actor, actorScope, adminScope } from '../../access/scope.ts'
import { insertPrivilege } from '../../access/store-privileges.ts'
import { appendAudit } from '../../events/append.ts'
import { insertOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { RegistrationDocument, UnfitPassword } from '../tables.ts'
import { sha256 } from '../../platform/secrets.ts'
import { appendAccountChange } from '../account-log.ts'
import { type InviteClaim, acceptInvite, lockOrgOfInvite } from '../admins/accept-invite.ts'
import type { LoginThrottle } from '../../access/authentication/login-throttle.ts'
import type { Passwords } from '../../access/authentication/password.ts'
import type { AccountSettings } from '../parts.ts'
import { type OpenedSession, openSession } from '../sessions/open-session.ts'
import { insertAdmin } from '../store.ts'
import { isTrustedUrl } from '../trusted-url.ts'
import { lockPending, markPendingUsed } from './store.ts'

export interface Verified {
  readonly opened: OpenedSession
  readonly returnTo: string | null
  readonly invite: InviteResult
}

export type InviteResult = UnusableInvite | { readonly kind: 'applied' | 'not_applied' }

type UnusableInvite = { readonly kind: 'none' } | { readonly kind: 'unfit_password'; readonly unfit: UnfitPassword }

export interface VerifyRequest {
  readonly token: string
  readonly from: Pick<Actor, 'srcIp' | 'userAgent'>
}

/**
 * Creates the registered account, its organization unless that was declined, and a session. All other pending
 * registrations of the address end: one of them may be another person's, with a password that they know.
 *
 * @throws AppError not_found; invalid: `expired` or `already registered`.
 */
export async function verifyRegistration(
  ctx: Context,
  settings: AccountSettings,
  { token, from }: VerifyRequest,
): Promise<Verified> {
  return inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    const row = await lockPending(tx, sha256(token))
    if (row === undefined) throw new AppError('not_found', 'Not found.')
    const { email, passwordHash, doc, usedAt, expiresAt } = row
    if (usedAt !== null || doc.first_name === undefined) throw new AppError('invalid', 'already registered')
    if (expiresAt <= at) throw new AppError('invalid', 'expired')
    const pending = { email, passwordHash, doc }
    const attached = inviteOf(doc)
    if (attached.kind === 'fit') await lockOrgOfInvite(tx, attached.tokenHash)
    const adminId = uuidv7()
    const name = { firstName: doc.first_name, lastName: doc.last_name }
    const actor: Actor = { adminId, name: actorName({ ...name, email, tokenName: '' }), ...from }
    await createAdmin(tx, { adminId, pending, at })
    await markPendingUsed(tx, email, at)
    if (!doc.account_only) await createFirstOrg(tx, { adminId, actor, pending, at })
    const { first_name, last_name } = doc
    await appendAccountChange(tx, { adminId, actor, message: 'register', after: { email, first_name, last_name }, at })
    const invite = await applyInvite(ctx, tx, attached, { admin: { id: adminId, email }, actor })
    // Open the session last: the organizations limit how long it lasts.
    const opened = await openSession(ctx, tx, adminScope(adminId), { actor, secondFactor: 'none' })
    const { return_to: returnTo } = doc
    const trusted = returnTo !== undefined && isTrustedUrl(returnTo, ctx.baseUrl, settings)
    return { opened, returnTo: trusted ? returnTo : null, invite }
  })
}

/**
 * Proves that the person who completes a registration also began it: otherwise anyone could register somebody else's
 * address with a known password, and wait until its owner presses the button.
 *
 * @throws AppError invalid for another password than the registered one; rate_limited.
 */
export async function proveRegistered(
  ctx: Context,
  { passwords, throttle }: { readonly passwords: Passwords; readonly throttle: LoginThrottle },
  { token, password }: { readonly token: string; readonly password: string },
): Promise<void> {
  const pending = await inTx(ctx, (tx) => lockPending(tx, sha256(token)))
  // Without a pending registration, verifyRegistration() reports the reason.
  if (pending === undefined || pending.usedAt !== null) return
  const key = `register ${token}`
  throttle.take(key)
  if (!(await passwords.matches(pending.passwordHash, password)))
    throw new AppError('invalid', 'This registration has another password')
  throttle.succeed(key)
}

interface NewAccount {
  readonly adminId: string
  readonly pending: { readonly email: string; readonly passwordHash: string; readonly doc: RegistrationDocument }
  readonly at: Date
}

async function createAdmin(tx: Tx, { adminId, pending, at }: NewAccount): Promise<void> {
  const { email, passwordHash, doc } = pending
  const created = await insertAdmin(tx, {
    id: adminId,
    email,
    passwordHash,
    firstName: doc.first_name,
    lastName: doc.last_name,
    createdAt: at,
    profile: doc.profile,
    noTracking: doc.no_tracking ?? false,
  })
  // The operator may have created the account concurrently.
  if (!created) throw new AppError('invalid', 'already registered')
}

async function createFirstOrg(
  tx: Tx,
  { adminId, actor, pending, at }: NewAccount & { readonly actor: Actor },
): Promise<void> {
  const scope = actorScope(actor, uuidv7())
  const { org_name: name, allow_mist } = pending.doc
  const doc = allow_mist === undefined ? {} : { allow_mist }
  await insertOrg(tx, scope, { name, doc, at })
  await insertPrivilege(tx, scope, { id: uuidv7(), adminId, scope: 'org', role: 'admin' })
  await appendAudit(tx, scope, { message: `Add Org "${name}"`, after: { ...doc, name }, at })
}

/** The invitation that a registration names. */
type AttachedInvite = UnusableInvite | { readonly kind: 'fit'; readonly tokenHash: Buffer }

function inviteOf(doc: RegistrationDocument): AttachedInvite {
  if (doc.invite_token_hash === undefined) return { kind: 'none' }
  if (doc.unfit_for_invite !== undefined) return { kind: 'unfit_password', unfit: doc.unfit_for_invite }
  return { kind: 'fit', tokenHash: Buffer.from(doc.invite_token_hash, 'hex') }
}

async function applyInvite(
  ctx: Context,
  tx: Tx,
  attached: AttachedInvite,
  claim: Omit<InviteClaim, 'inviteTokenHash'>,
): Promise<InviteResult> {
  if (attached.kind !== 'fit') return attached
  const outcome = await acceptInvite(ctx, tx, { ...claim, inviteTokenHash: attached.tokenHash })
  return { kind: outcome === 'applied' ? 'applied' : 'not_applied' }
}
