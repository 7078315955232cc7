import { uuidv7 } from 'uuidv7'
import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { mergeDocument, omitFields } from '../../http/documents.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { type MapStack, insertMapStack } from './store.ts'

const OWN_FIELDS = ['id', 'org_id', 'site_id', 'created_time', 'modified_time']

/** @param body In wire shape. */
export function createMapStack(ctx: Context, scope: SiteScope, body: Record<string, unknown>): Promise<MapStack> {
  const { name: given, ...doc } = omitFields(mergeDocument({}, body), OWN_FIELDS)
  const name = typeof given === 'string' ? given : ''
  return inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    const stack = await insertMapStack(tx, scope, { id: uuidv7(), name, doc, at })
    const after = { ...doc, name }
    await appendAudit(tx, scope, { message: `Add Map Stack "${name}"`, siteId: scope.siteId, after, at })
    return stack
  })
}
