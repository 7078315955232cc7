import { uuidv7 } from '../platform/uuidv7.ts'
import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import { assertMapLimit } from './limits.ts'
import { type MapDocument, type SiteMap, auditDocument, mergeMap, titleOf } from './map.ts'
import { lockAdditions } from '../orgs/store.ts'
import { type NewMap, insertMap } from './store.ts'
import { changeMap } from './update-map.ts'

/** @throws AppError invalid if the site or the organization has the maximum of maps. */
export function createMap(ctx: Context, scope: SiteScope, body: MapDocument): Promise<SiteMap> {
  const content = { id: uuidv7(), doc: mergeMap({}, body), image: null, at: ctx.clock.now() }
  return inTx(ctx, async (tx) => {
    await lockAdditions(tx, scope)
    const map = await addMap(tx, scope, content)
    if (map === null) throw new Error(`map ${content.id} was made twice`)
    await assertMapLimit(tx, scope, ctx.limits)
    return map
  })
}

/**
 * Creates the map of that id, or updates it if it exists, so that a client may repeat the request when an answer got
 * lost. Source: spec, "Installer", 9.
 * @throws AppError not_found for a map of another site; invalid if the site or the organization has the maximum of maps.
 */
export function upsertMap(
  ctx: Context,
  scope: SiteScope,
  { mapId, body }: { readonly mapId: string; readonly body: MapDocument },
): Promise<SiteMap> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await lockAdditions(tx, scope)
    const made = await addMap(tx, scope, { id: mapId, doc: mergeMap({}, body), image: null, at })
    if (made !== null) {
      await assertMapLimit(tx, scope, ctx.limits)
      return made
    }
    const changed = await changeMap(tx, scope, { mapId, change: body, at })
    if (changed === null) throw notFound(mapId)
    return changed
  })
}

/** The caller checks limits. @returns Null if the organization has a map of that id already. */
export async function addMap(tx: Tx, scope: SiteScope, content: NewMap): Promise<SiteMap | null> {
  const map = await insertMap(tx, scope, content)
  if (map === undefined) return null
  await appendAudit(tx, scope, {
    message: `Add Map ${titleOf(map)}`,
    siteId: scope.siteId,
    after: auditDocument(map),
    at: content.at,
  })
  return map
}
