import type { SiteScope } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import type { SiteMap } from './map.ts'
import { lockMap } from './store.ts'
import { changeMap } from './update-map.ts'
import { isObject } from '../platform/json/is-object.ts'

export interface WayfindingLink {
  readonly mapId: string
  /** The member of `wayfinding` under which clients expect the vendor. */
  readonly vendor: 'micello' | 'mapvendor'
  /** In wire shape: `account_key`, `default_level_id`, `map_id`. */
  readonly account: Readonly<Record<string, unknown>>
}

/**
 * Links the map to a map of a wayfinding service, from which apps on site fetch it. The rest of `wayfinding` stays.
 * Source: contract, `importSiteWayfindings`.
 * @throws AppError not_found.
 */
export function linkWayfinding(
  ctx: Context,
  scope: SiteScope,
  { mapId, vendor, account }: WayfindingLink,
): Promise<SiteMap> {
  return inTx(ctx, async (tx) => {
    const before = await lockMap(tx, scope, mapId)
    if (before === undefined) throw notFound(mapId)
    const known = before.doc['wayfinding']
    const others = isObject(known) ? known : {}
    const change = { wayfinding: { ...others, [vendor]: { ...account } } }
    const map = await changeMap(tx, scope, { mapId, change, at: ctx.clock.now() })
    if (map === null) throw notFound(mapId)
    return map
  })
}
