import { site } from '../http/at.ts'
import { listOperation } from '../http/lists/list-operation.ts'
import { presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty } from '../http/schemas.ts'
import { notFound } from '../platform/errors.ts'
import { showOneTo, showTo } from '../orgs/secrets/reveal.ts'
import { createMap } from './create-map.ts'
import { linkWayfinding } from './link-wayfinding.ts'
import { installerMapOperations } from './routes-installer.ts'
import { mapStackOperations } from './stacks/routes.ts'
import { findMap, listMaps } from './store.ts'
import { updateMap } from './update-map.ts'
import {
  MapBody,
  MapReply,
  MapsQuery,
  WayfindingImportBody,
  mapParams as params,
  parseMaps,
  parseWayfinding,
  presentMap,
} from './wire.ts'

const tag = 'Sites Maps'
const single = '/maps/:map_id'

const siteMapOperations: Operation[] = [
  listOperation({
    id: 'listSiteMaps',
    summary: 'List the floor plans of a site',
    tag,
    at: site('/maps', { needs: 'read' }),
    query: MapsQuery,
    item: MapReply,
    run: async (ctx, { scope, caller, query, page }) => {
      const maps = await listMaps(ctx.db, scope, { conditions: parseMaps(query), page })
      const { rows, ...whole } = presentPage(maps, (map) => presentMap(ctx, map))
      return { ...whole, rows: await showTo(ctx, { caller, scope }, rows) }
    },
  }),
  operation({
    id: 'createSiteMap',
    summary: 'Create a floor plan',
    method: 'POST',
    tag,
    at: site('/maps', { needs: 'write' }),
    body: MapBody,
    reply: MapReply,
    run: async (ctx, { scope, caller, body }) =>
      showOneTo(ctx, { caller, scope }, presentMap(ctx, await createMap(ctx, scope, body)), body),
  }),
  operation({
    id: 'getSiteMap',
    summary: 'Get a floor plan',
    method: 'GET',
    tag,
    at: site(single, { needs: 'read' }),
    params,
    reply: MapReply,
    run: async (ctx, { scope, caller, params }) => {
      const map = await findMap(ctx.db, scope, params.map_id)
      if (map === undefined) throw notFound(params.map_id)
      return showOneTo(ctx, { caller, scope }, presentMap(ctx, map))
    },
  }),
  operation({
    id: 'updateSiteMap',
    summary: 'Update a floor plan',
    method: 'PUT',
    tag,
    at: site(single, { needs: 'write' }),
    params,
    body: MapBody,
    reply: MapReply,
    run: async (ctx, { scope, caller, params, body }) => {
      const map = await updateMap(ctx, scope, { mapId: params.map_id, change: body })
      return showOneTo(ctx, { caller, scope }, presentMap(ctx, map), body)
    },
  }),
  operation({
    id: 'importSiteWayfindings',
    summary: 'Import the paths of a floor plan from a vendor of maps',
    method: 'POST',
    tag,
    at: site(`${single}/wayfinding/import`, { needs: 'write' }),
    params,
    body: WayfindingImportBody,
    reply: Empty,
    run: async (ctx, { scope, params, body }) => {
      await linkWayfinding(ctx, scope, { mapId: params.map_id, ...parseWayfinding(body) })
    },
  }),
].flat()

/** Maps and their stacks. Source: contract, Sites Maps, Orgs Maps and Installer. */
export const mapOperations: Operation[] = [...siteMapOperations, ...mapStackOperations, ...installerMapOperations]
