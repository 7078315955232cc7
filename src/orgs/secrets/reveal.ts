import { type Caller, may } from '../../access/authorize.ts'
import type { InOrg } from '../../access/scope.ts'
import type { Document } from '../../platform/json/document.ts'
import type { Context } from '../../platform/context.ts'
import { type Reveal, hasSecrets, presentSecrets } from './secrets.ts'
import { hidesSecrets } from '../org-settings/store.ts'

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

/** A caller with the scope that it reads or writes. */
export interface Viewer {
  readonly caller: Caller
  readonly scope: InOrg
}

/**
 * Returns presented objects without the secrets in their documents, unless the caller sees them.
 * @param written The request's body; empty for a read.
 */
export async function showTo<T extends object>(
  ctx: Context,
  { caller, scope }: Viewer,
  items: readonly T[],
  written: Document = {},
): Promise<T[]> {
  // Most objects have none, and the question costs a query.
  if (!items.some((item) => hasSecrets(item as Document))) return [...items]
  const reveal = await revealTo(ctx, caller, scope, written)
  // The fields that the service sets itself are not secrets, so the type stays.
  return items.map((item) => presentSecrets(item as Document, reveal) as T)
}

/** Does the same as showTo() for one object. */
export async function showOneTo<T extends object>(
  ctx: Context,
  viewer: Viewer,
  item: T,
  written: Document = {},
): Promise<T> {
  const [shown] = await showTo(ctx, viewer, [item], written)
  return shown ?? item
}
