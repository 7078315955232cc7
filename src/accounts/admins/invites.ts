import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { Caller } from '../../access/authorize.ts'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import { sha256 } from '../../platform/secrets.ts'
import { composeMail } from '../mail/compose-mail.ts'
import { consumeMailQuota } from '../mail/mail-quota.ts'
import type { AccountParts } from '../parts.ts'
import { postMail } from '../mail/post-mail.ts'
import { assertGrantable, holdsGrantOf } from './assert-grantable.ts'
import type { Invite, InviteDocument } from '../tables.ts'
import { isAdminAddress } from './store-admins.ts'
import {
  countInvites,
  deleteInviteRow,
  insertInvite,
  lockInvite,
  lockInviteOf,
  updateInviteRow,
} from './store-invites.ts'

const MAX_OPEN = 1000

export interface InviteRequest {
  /** In lower case. */
  readonly email: string
  readonly document: InviteDocument
}

export interface InviteChange extends Partial<InviteDocument> {
  readonly unset: readonly ('first_name' | 'last_name')[]
}

/**
 * Invites an address. The reply does not reveal whether it has an account. The inviter's privileges limit the
 * invitation now and when it is accepted. An address that is invited already keeps one invitation, which gets the new
 * content and a new link.
 *
 * @throws AppError invalid for the address of an admin, and for one whose open invitation grants what the caller may not
 *   grant.
 */
export async function createInvite(
  ctx: Context,
  scope: InOrg,
  {
    parts,
    caller,
    request,
  }: { readonly parts: AccountParts; readonly caller: Caller; readonly request: InviteRequest },
): Promise<Invite> {
  const { email, document } = request
  const at = ctx.clock.now()
  const { invite, mail } = await inTx(ctx, async (tx) => {
    await assertGrantable(tx, scope, { caller, privileges: document.privileges })
    if (await isAdminAddress(tx, scope, email)) throw invalidField('email', 'is an admin of the organization already')
    const before = await lockInviteOf(tx, scope, email)
    if (before !== undefined) {
      if (before.expiresAt > at && !(await holdsGrantOf(tx, scope, { caller, privileges: before.doc.privileges })))
        throw invalidField('email', 'is invited already, with privileges that you do not have')
      return renewInvite(ctx, tx, scope, { before, doc: document, caller, at })
    }
    if ((await countInvites(tx, scope)) >= MAX_OPEN)
      throw new AppError('invalid', `An organization may have at most ${MAX_OPEN} open invitations`)
    const { token, ...fresh } = freshToken(at, document)
    const place = { orgId: scope.orgId, id: uuidv7(), invitedBy: inviterOf(caller), createdAt: at }
    const invite: Invite = { ...place, ...fresh, email, doc: document }
    await insertInvite(tx, scope, invite)
    await appendAudit(tx, scope, { message: `Invite Admin "${email}"`, after: auditDocument(invite), at })
    return { invite, mail: await planMail(ctx, tx, { invite, caller, token }) }
  })
  if (mail !== null) postMail(ctx, parts.mailer, mail)
  return invite
}

/** Changes an invitation and sends it again with a new link; the old link stops working. The address stays. */
export async function updateInvite(
  ctx: Context,
  scope: OrgScope,
  change: {
    readonly id: string
    readonly parts: AccountParts
    readonly caller: Caller
    readonly wanted: InviteChange
  },
): Promise<Invite> {
  const { id, parts, caller, wanted } = change
  const at = ctx.clock.now()
  const { invite, mail } = await inTx(ctx, async (tx) => {
    const { privileges } = wanted
    if (privileges !== undefined) await assertGrantable(tx, scope, { caller, privileges })
    const before = await lockInvite(tx, scope, id)
    return renewInvite(ctx, tx, scope, { before, doc: changed(before.doc, wanted), caller, at })
  })
  if (mail !== null) postMail(ctx, parts.mailer, mail)
  return invite
}

interface Renewal {
  /** Locked. */
  readonly before: Invite
  readonly doc: InviteDocument
  readonly caller: Caller
  readonly at: Date
}

/** Gives an invitation new content and a new link. If no mail may carry the new link, the old one goes on working. */
async function renewInvite(ctx: Context, tx: Tx, scope: InOrg, { before, doc, caller, at }: Renewal) {
  const { token, ...fresh } = freshToken(at, doc)
  const renewed: Invite = { ...before, ...fresh, doc, invitedBy: inviterOf(caller) }
  const mail = await planMail(ctx, tx, { invite: renewed, caller, token })
  const invite = mail === null ? { ...renewed, tokenHash: before.tokenHash } : renewed
  await updateInviteRow(tx, scope, invite)
  await appendAudit(tx, scope, {
    message: `Update Invite of "${invite.email}"`,
    before: auditDocument(before),
    after: auditDocument(invite),
    at,
  })
  return { invite, mail }
}

function changed(before: InviteDocument, { unset, ...wanted }: InviteChange): InviteDocument {
  const { first_name, last_name, ...rest } = { ...before, ...wanted }
  return {
    ...rest,
    ...(first_name !== undefined && !unset.includes('first_name') && { first_name }),
    ...(last_name !== undefined && !unset.includes('last_name') && { last_name }),
  }
}

export async function deleteInvite(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    const invite = await lockInvite(tx, scope, id)
    await deleteInviteRow(tx, scope, id)
    const message = `Withdraw Invite of "${invite.email}"`
    await appendAudit(tx, scope, { message, before: auditDocument(invite), at: ctx.clock.now() })
  })
}

function freshToken(at: Date, { hours }: InviteDocument) {
  const token = randomBytes(32).toString('base64url')
  return { token, tokenHash: sha256(token), expiresAt: addMs(at, hours * 3600e3) }
}

/** Returns the id of the inviter: an admin, or a token of the organization, which may invite within its own privileges. */
function inviterOf({ principal }: Caller): string | null {
  return principal.adminId ?? principal.tokenId
}

/**
 * Composes the mail, or returns null if the address has had its mails for this hour: the inviter can send it again
 * later.
 */
async function planMail(
  ctx: Context,
  tx: Tx,
  { invite, caller, token }: { readonly invite: Invite; readonly caller: Caller; readonly token: string },
): Promise<Mail | null> {
  if (!(await consumeMailQuota(tx, invite.email, ctx.clock.now()))) return null
  const { email, ssoId } = caller.principal
  // The mail names the inviter only by an address that we have verified: anything else could be made up.
  const inviter = email === '' || ssoId !== null ? 'Somebody' : email
  return inviteMail(invite, inviter, `${ctx.baseUrl}/verify/invite?token=${token}`)
}

function inviteMail({ email, doc }: Invite, inviter: string, url: string): Mail {
  return composeMail({
    to: email,
    subject: 'You are invited to Signalbox',
    paragraphs: [
      `${inviter} invites you to help run an organization in Signalbox.`,
      `To accept, open the page, sign in with your account of this address or register one, and press its button within ${doc.hours} hours.`,
      'If you do not know what this is about, do nothing.',
    ],
    action: { label: 'Accept the invitation', url },
  })
}

function auditDocument({ email, doc }: Invite): Record<string, unknown> {
  return { email, ...doc }
}
