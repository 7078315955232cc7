import { uuidv7 } from '../platform/uuidv7.ts'
import type { OrgScope } from '../access/scope.ts'
import { insertPrivilege } from '../access/store-privileges.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import type { Document } from '../platform/json/document.ts'
import { assertRoomForOrg } from './limits.ts'
import { auditDocumentOfOrg, mergeOrg } from './org.ts'
import { type Org, insertOrg, lockOrgCount } from './store.ts'

/**
 * Creates the organization of `scope`; the caller becomes its administrator.
 *
 * @throws AppError invalid naming the field, or if the caller has created as many as an account may.
 */
export async function createOrg(ctx: Context, scope: OrgScope, body: Document): Promise<Org> {
  const at = ctx.clock.now()
  const content = mergeOrg(null, body)
  const { adminId } = scope.actor
  return inTx(ctx, async (tx) => {
    if (adminId !== null) assertRoomForOrg(await lockOrgCount(tx, adminId), ctx.limits.orgsPerAccount)
    const org = await insertOrg(tx, scope, { ...content, at })
    if (adminId !== null) await insertPrivilege(tx, scope, { id: uuidv7(), adminId, scope: 'org', role: 'admin' })
    await appendAudit(tx, scope, { message: `Add Org "${org.name}"`, after: auditDocumentOfOrg(org), at })
    return org
  })
}
