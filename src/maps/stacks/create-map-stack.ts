import { uuidv7 } from '../../platform/uuidv7.ts'
import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { mergeDocument, omitFields } from '../../http/bodies/documents.ts'
import type { Context } from '../../platform/context.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { MAX_STACKS_OF_SITE } from '../limits.ts'
import { lockAdditions } from '../../orgs/store.ts'
import { type MapStack, countMapStacks, insertMapStack } from './store.ts'

const OWN_FIELDS = ['id', 'org_id', 'site_id', 'created_time', 'modified_time']

/** @param body In wire shape. @throws AppError invalid if the site has the maximum of stacks. */
export function createMapStack(ctx: Context, scope: SiteScope, body: Record<string, unknown>): Promise<MapStack> {
  const { name: given, ...doc } = omitFields(mergeDocument({}, body), OWN_FIELDS)
  const name = typeof given === 'string' ? given : ''
  return inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    await lockAdditions(tx, scope)
    const stack = await insertMapStack(tx, scope, { id: uuidv7(), name, doc, at })
    if ((await countMapStacks(tx, scope)) > MAX_STACKS_OF_SITE)
      throw new AppError('invalid', `A site may have at most ${MAX_STACKS_OF_SITE} map stacks`)
    const after = { ...omitSecrets(doc), name }
    await appendAudit(tx, scope, { message: `Add Map Stack "${name}"`, siteId: scope.siteId, after, at })
    return stack
  })
}
