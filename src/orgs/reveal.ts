import { type Caller, may } from '../access/authorize.ts'
import type { InOrg } from '../access/scope.ts'
import type { Document } from '../platform/document.ts'
import type { Context } from '../platform/context.ts'
import type { Reveal } from './secrets.ts'
import { hidesSecrets } from './store-setting.ts'

/**
 * True if the caller sees secrets in this scope. Callers who may write see them, unless the organization hides secrets
 * from everyone.
 */
export async function revealsSecrets(ctx: Context, caller: Caller, scope: InOrg): Promise<boolean> {
  return may(caller, scope, 'write') && !(await hidesSecrets(ctx.db, scope))
}

/**
 * Returns the secrets that an answer shows to the caller. The answer to a write always contains what the request wrote:
 * clients compare the two, and Terraform fails if they differ.
 * @param written The request's body; empty for a read.
 */
export async function revealTo(ctx: Context, caller: Caller, scope: InOrg, written: Document = {}): Promise<Reveal> {
  return (await revealsSecrets(ctx, caller, scope)) ? 'all' : { written }
}
