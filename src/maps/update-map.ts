import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import { type MapDocument, type SiteMap, auditDocument, mergeMap, titleOf } from './map.ts'
import { lockMap, updateMap as writeMap } from './store.ts'

export interface MapChange {
  readonly mapId: string
  readonly change: MapDocument
}

/** Replaces the top-level fields that the change names; see mergeDocument(). @throws AppError not_found. */
export function updateMap(ctx: Context, scope: SiteScope, { mapId, change }: MapChange): Promise<SiteMap> {
  return inTx(ctx, async (tx) => {
    const map = await changeMap(tx, scope, { mapId, change, at: ctx.clock.now() })
    if (map === null) throw notFound(mapId)
    return map
  })
}

/** @returns Null if the site has no such map. */
export async function changeMap(
  tx: Tx,
  scope: SiteScope,
  { mapId, change, at }: MapChange & { readonly at: Date },
): Promise<SiteMap | null> {
  const before = await lockMap(tx, scope, mapId)
  if (before === undefined) return null
  const after = await writeMap(tx, scope, { id: mapId, doc: mergeMap(before.doc, change), at })
  await appendAudit(tx, scope, {
    message: `Update Map ${titleOf(after)}`,
    siteId: scope.siteId,
    before: auditDocument(before),
    after: auditDocument(after),
    at,
  })
  return after
}
