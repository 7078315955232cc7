import { uuidv7 } from '../../platform/uuidv7.ts'
import type { Caller } from '../../access/authorize.ts'
import { type InOrg, type OrgScope, adminScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { assertGrantable } from '../admins/assert-grantable.ts'
import { assertRoomForToken } from '../limits.ts'
import { lockSignIn } from '../sessions/store.ts'
import {
  countTokens,
  deleteToken,
  deleteTokensCreatedBy,
  getToken,
  insertToken,
  lockToken,
  updateToken,
} from './store.ts'
import { type CreatedToken, type Token, auditDocument, generateTokenKey } from './token.ts'

export interface OrgTokenRequest {
  readonly name: string
  readonly privileges: readonly WirePrivilege[]
  /** Each entry is an address or a range; null if the request has no list. */
  readonly srcIps: readonly string[] | null
}

/**
 * Creates a token that belongs to the organization, with its own privileges, none beyond its creator's. A caller with a
 * session has proved their identity before (proveRecently).
 */
export async function createOrgToken(
  ctx: Context,
  scope: InOrg,
  { caller, request }: { readonly caller: Caller; readonly request: OrgTokenRequest },
): Promise<CreatedToken> {
  const at = ctx.clock.now()
  const { name, privileges, srcIps } = request
  const { key, ...hashed } = generateTokenKey()
  const token = await inTx(ctx, async (tx) => {
    await assertGrantable(tx, scope, { caller, privileges })
    const { adminId, passwordModifiedAt } = caller.principal
    // The owner of the account may have just recovered it from the caller.
    if (adminId !== null && (await lockSignIn(tx, adminScope(adminId), passwordModifiedAt)) === undefined)
      throw new AppError('unauthenticated', 'The account was deleted, or its password was changed')
    assertRoomForToken('An organization', await countTokens(tx, scope), ctx.limits.tokensPerOrg)
    const id = uuidv7()
    await insertToken(tx, scope, { id, ...hashed, name, privileges, srcIps, createdAt: at })
    const created = await getToken(tx, scope, id)
    await appendAudit(tx, scope, { message: `Add API Token "${name}"`, after: auditDocument(created), at })
    return created
  })
  return { token, key }
}

/** @throws AppError invalid if `src_ips` changes: the addresses of a token must stay reliable. */
export async function updateOrgToken(
  ctx: Context,
  scope: OrgScope,
  { id, caller, change }: { readonly id: string; readonly caller: Caller; readonly change: Partial<OrgTokenRequest> },
): Promise<Token> {
  return inTx(ctx, async (tx) => {
    if (change.privileges !== undefined) await assertGrantable(tx, scope, { caller, privileges: change.privileges })
    const before = await lockToken(tx, scope, id)
    const { name = before.name, privileges = before.privileges ?? [], srcIps = before.srcIps } = change
    if (addressesOf(srcIps) !== addressesOf(before.srcIps)) throw invalidField('src_ips', "can't be changed")
    const after = { ...before, name, privileges: [...privileges], srcIps: srcIps && [...srcIps] }
    await updateToken(tx, scope, after)
    await appendAudit(tx, scope, {
      message: `Update API Token "${after.name}"`,
      before: auditDocument(before),
      after: auditDocument(after),
      at: ctx.clock.now(),
    })
    return after
  })
}

/** An empty list means the same as none. */
function addressesOf(srcIps: readonly string[] | null): string {
  return (srcIps ?? []).join()
}

/**
 * Revokes the tokens of the organization whose creator is no longer an admin of it: the creator may still know their
 * keys.
 *
 * @returns The revoked tokens, by name.
 */
export async function revokeTokensOf(
  tx: Tx,
  scope: InOrg,
  { adminId, at }: { readonly adminId: string; readonly at: Date },
): Promise<RevokedToken[]> {
  const revoked = await deleteTokensCreatedBy(tx, scope, adminId)
  for (const token of revoked) {
    const message = `Delete API Token "${token.name}"`
    await appendAudit(tx, scope, { message, before: auditDocument(token), at })
  }
  return revoked.map(({ id, name }) => ({ id, name }))
}

export interface RevokedToken {
  readonly id: string
  readonly name: string
}

export async function deleteOrgToken(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    const before = await lockToken(tx, scope, id)
    await deleteToken(tx, scope, id)
    const message = `Delete API Token "${before.name}"`
    await appendAudit(tx, scope, { message, before: auditDocument(before), at: ctx.clock.now() })
  })
}
