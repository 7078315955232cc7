import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { Caller } from '../../access/authorize.ts'
import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { assertGrantable } from '../admins/assert-grantable.ts'
import { type Sso, auditDocument, mergeSso } from './sso.ts'
import { countSsos, deleteSsoRow, insertSso, lockSso, updateSsoRow } from './store.ts'
import { deleteSsoAdmins } from './saml/store-saml.ts'

type Body = Readonly<Record<string, unknown>>

const MAX_SSOS = 20
/**
 * The identity provider can grant any privilege to anyone, so only a full administrator may decide which one to trust.
 */
const fullAdmin: readonly WirePrivilege[] = [{ scope: 'org', role: 'admin' }]

/** @throws AppError invalid naming the field. */
export async function createSso(
  ctx: Context,
  scope: OrgScope,
  { caller, body }: { readonly caller: Caller; readonly body: Body },
): Promise<Sso> {
  const at = ctx.clock.now()
  // Random, so that the login URL of an organization can't be guessed from its name.
  const domain = randomBytes(10).toString('hex')
  const sso = { orgId: scope.orgId, id: uuidv7(), domain, doc: mergeSso(null, body), createdAt: at, modifiedAt: at }
  await inTx(ctx, async (tx) => {
    await assertGrantable(tx, scope, { caller, privileges: fullAdmin })
    if ((await countSsos(tx, scope)) >= MAX_SSOS)
      throw new AppError('invalid', `An organization may have at most ${MAX_SSOS} SSOs`)
    await insertSso(tx, scope, sso)
    await appendAudit(tx, scope, { message: `Add SSO "${sso.doc.name}"`, after: auditDocument(sso), at })
  })
  return sso
}

/**
 * Replaces the top-level fields that `body` names; see mergeDocument().
 *
 * @throws AppError invalid, which names the field.
 */
export async function updateSso(
  ctx: Context,
  scope: OrgScope,
  { id, caller, body }: { readonly id: string; readonly caller: Caller; readonly body: Body },
): Promise<Sso> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await assertGrantable(tx, scope, { caller, privileges: fullAdmin })
    const before = await lockSso(tx, scope, id)
    const after = { ...before, doc: mergeSso(before.doc, body), modifiedAt: at }
    await updateSsoRow(tx, scope, after)
    const message = `Update SSO "${after.doc.name}"`
    await appendAudit(tx, scope, { message, before: auditDocument(before), after: auditDocument(after), at })
    return after
  })
}

/** Deletes the SSO with its accounts and their sessions, because nothing vouches for them any more. */
export async function deleteSso(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    await lockOrg(tx, scope)
    const before = await lockSso(tx, scope, id)
    const accounts = await deleteSsoAdmins(tx, scope, id)
    await deleteSsoRow(tx, scope, id)
    await appendAudit(tx, scope, {
      message: `Delete SSO "${before.doc.name}"`,
      before: { ...auditDocument(before), accounts },
      at: ctx.clock.now(),
    })
  })
}
