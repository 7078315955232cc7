import { uuidv7 } from '../platform/uuidv7.ts'
import type { OrgScope } from '../access/scope.ts'
import { insertPrivilege } from '../access/store-privileges.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { assertRoomForOrg } from './limits.ts'
import { auditDocumentOfOrg } from './org.ts'
import { cloneSetting } from './org-settings/setting.ts'
import { type Org, getOrg, insertOrg, lockOrgCount } from './store.ts'
import { findSetting, upsertSetting } from './org-settings/store.ts'

const MAX_NAME = 200

/**
 * Creates the organization of `scope` as a copy of another one: its fields and its settings. Sites and their groups,
 * people, tokens, SSOs, webhooks, firmware, devices and secrets are not copied. The caller becomes its administrator.
 * Source: contract, cloneOrg.
 * @throws AppError as createOrg().
 */
export async function cloneOrg(
  ctx: Context,
  scope: OrgScope,
  { original, name }: { readonly original: OrgScope; readonly name: string | undefined },
): Promise<Org> {
  const at = ctx.clock.now()
  const { adminId } = scope.actor
  return inTx(ctx, async (tx) => {
    if (adminId !== null) assertRoomForOrg(await lockOrgCount(tx, adminId), ctx.limits.orgsPerAccount)
    const { name: originalName, doc } = await getOrg(tx, original)
    const setting = await findSetting(tx, original)
    const copyName = name ?? `Copy of ${originalName}`.slice(0, MAX_NAME)
    const org = await insertOrg(tx, scope, { name: copyName, doc, at })
    if (setting !== undefined) await upsertSetting(tx, scope, { doc: cloneSetting(setting.doc), at })
    if (adminId !== null) await insertPrivilege(tx, scope, { id: uuidv7(), adminId, scope: 'org', role: 'admin' })
    const message = `Add Org "${org.name}"`
    await appendAudit(tx, scope, { message, after: { ...auditDocumentOfOrg(org), cloned_from: original.orgId }, at })
    return org
  })
}
