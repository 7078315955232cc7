import { uuidv7 } from '../../platform/uuidv7.ts'
import type { Caller } from '../../access/authorize.ts'
import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { assertGrantable } from '../admins/assert-grantable.ts'
import {
  type SsoRole,
  countSsoRoles,
  deleteSsoRoleRow,
  findSsoRoleByName,
  insertSsoRole,
  lockSsoRole,
  updateSsoRoleRow,
} from './store-roles.ts'

export interface SsoRoleContent {
  /** The name by which identity providers know it. */
  readonly name: string
  readonly privileges: readonly WirePrivilege[]
}

const MAX_ROLES = 200

/** @throws AppError forbidden for privileges beyond the caller's, invalid for a name that is taken. */
export async function createSsoRole(
  ctx: Context,
  scope: OrgScope,
  { caller, content }: { readonly caller: Caller; readonly content: SsoRoleContent },
): Promise<SsoRole> {
  const at = ctx.clock.now()
  const { name, privileges } = content
  const role = {
    orgId: scope.orgId,
    id: uuidv7(),
    name,
    privileges: [...privileges],
    createdAt: at,
    modifiedAt: at,
  }
  await inTx(ctx, async (tx) => {
    await assertGrantable(tx, scope, { caller, privileges })
    await assertNameFree(tx, scope, role)
    if ((await countSsoRoles(tx, scope)) >= MAX_ROLES)
      throw new AppError('invalid', `An organization may have at most ${MAX_ROLES} SSO roles`)
    await insertSsoRole(tx, scope, role)
    await appendAudit(tx, scope, { message: `Add SSO Role "${name}"`, after: auditDocument(role), at })
  })
  return role
}

/**
 * Changes a role. People with the role get the new privileges at their next login.
 *
 * @throws AppError as createSsoRole().
 */
export async function updateSsoRole(
  ctx: Context,
  scope: OrgScope,
  change: { readonly id: string; readonly caller: Caller; readonly content: Partial<SsoRoleContent> },
): Promise<SsoRole> {
  const { id, caller, content } = change
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await lockOrg(tx, scope)
    const before = await lockSsoRole(tx, scope, id)
    const { name = before.name, privileges = before.privileges } = content
    const after = { ...before, name, privileges: [...privileges], modifiedAt: at }
    if (content.privileges !== undefined) await assertGrantable(tx, scope, { caller, privileges })
    await assertNameFree(tx, scope, after)
    await updateSsoRoleRow(tx, scope, after)
    const message = `Update SSO Role "${name}"`
    await appendAudit(tx, scope, { message, before: auditDocument(before), after: auditDocument(after), at })
    return after
  })
}

export async function deleteSsoRole(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    const before = await lockSsoRole(tx, scope, id)
    await deleteSsoRoleRow(tx, scope, id)
    const message = `Delete SSO Role "${before.name}"`
    await appendAudit(tx, scope, { message, before: auditDocument(before), at: ctx.clock.now() })
  })
}

/** The caller has locked the organization. */
async function assertNameFree(tx: Tx, scope: OrgScope, { name, id }: SsoRole): Promise<void> {
  const taken = await findSsoRoleByName(tx, scope, { name, id })
  if (taken !== undefined) throw invalidField('name', 'another SSO role has it')
}

function auditDocument({ name, privileges }: SsoRole): Record<string, unknown> {
  return { name, privileges }
}
