import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Document } from '../../platform/json/document.ts'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { omitSecrets } from '../secrets/secrets.ts'
import { mergeSetting } from './setting.ts'
import { lockOrgAlone } from '../store.ts'
import { type Setting, findSetting, upsertSetting } from './store.ts'

/** Replaces the top-level fields that `body` names; see mergeDocument(). */
export async function updateSetting(ctx: Context, scope: OrgScope, body: Document): Promise<Setting> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    // The settings have no row at first, so the organization's row is locked in its place.
    await lockOrgAlone(tx, scope)
    const before = (await findSetting(tx, scope))?.doc ?? {}
    const doc = mergeSetting(before, body)
    // Settings may have a hundred thousand values, and each of these steps takes milliseconds for them.
    await nextTurn()
    const setting = await upsertSetting(tx, scope, { doc, at })
    const shown = { before: omitSecrets(before), after: omitSecrets(doc) }
    await nextTurn()
    await appendAudit(tx, scope, { message: 'Update Org Settings', ...shown, at })
    return setting
  })
}
