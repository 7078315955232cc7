import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import type { SiteScope } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { installerSite } from '../orgs/installers/at.ts'
import { showOneTo, showTo } from '../orgs/secrets/reveal.ts'
import { upsertMap } from './create-map.ts'
import { findMap, listMaps } from './store.ts'
import { updateMap } from './update-map.ts'
import { MapBody, MapReply, mapParams as params, presentMap } from './wire.ts'

const tag = 'Installer'
const single = installerSite('/maps/:map_id')

/** Maps for installers. Source: spec, "Installer", 9; contract, Installer. */
export const installerMapOperations: Operation[] = [
  listOperation({
    id: 'listInstallerMaps',
    summary: 'List the floor plans of a site by its name',
    tag,
    at: installerSite('/maps'),
    item: MapReply,
    run: async (ctx, { scope: { site }, caller, page }) => {
      const { rows, ...whole } = presentPage(await listMaps(ctx.db, site, { page }), (map) => presentMap(ctx, map))
      return { ...whole, rows: await showTo(ctx, { caller, scope: site }, rows) }
    },
  }),
  operation({
    id: 'createInstallerMap',
    summary: 'Create a floor plan as an installer',
    method: 'POST',
    tag,
    at: single,
    params,
    body: MapBody,
    reply: MapReply,
    record: (ctx, { scope: { site }, params }) => readMap(ctx, site, params.map_id),
    run: async (ctx, { scope: { site }, caller, params, body }) => {
      const map = await upsertMap(ctx, site, { mapId: params.map_id, body })
      return showOneTo(ctx, { caller, scope: site }, presentMap(ctx, map), body)
    },
  }),
  operation({
    id: 'updateInstallerMap',
    summary: 'Update a floor plan as an installer',
    method: 'PUT',
    tag,
    at: single,
    params,
    body: MapBody,
    reply: MapReply,
    record: (ctx, { scope: { site }, params }) => readMap(ctx, site, params.map_id),
    run: async (ctx, { scope: { site }, caller, params, body }) => {
      const map = await updateMap(ctx, site, { mapId: params.map_id, change: body })
      return showOneTo(ctx, { caller, scope: site }, presentMap(ctx, map), body)
    },
  }),
].flat()

async function readMap(ctx: Context, site: SiteScope, mapId: string) {
  const map = await findMap(ctx.db, site, mapId)
  return map && presentMap(ctx, map)
}
