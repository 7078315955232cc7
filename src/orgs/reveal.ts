import { type Caller, may } from '../access/authorize.ts'
import type { InOrg } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { hidesSecrets } from './store-setting.ts'

/**
 * True if the caller sees secrets in this scope: callers who may write do, unless the organization hides secrets from
 * everyone.
 */
export async function revealsSecrets(ctx: Context, caller: Caller, scope: InOrg): Promise<boolean> {
  return may(caller, scope, 'write') && !(await hidesSecrets(ctx.db, scope))
}
