import { site } from '../http/at.ts'
import { listOperation } from '../http/list-operation.ts'
import { presentPage } from '../http/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty } from '../http/schemas.ts'
import { notFound } from '../platform/errors.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { createMap } from './create-map.ts'
import { deleteMap } from './delete-map.ts'
import { linkWayfinding } from './link-wayfinding.ts'
import { mapImageOperations } from './routes-images.ts'
import { mapImportOperations } from './routes-import.ts'
import { installerMapOperations } from './routes-installer.ts'
import { setMap } from './set-map.ts'
import { mapStackOperations } from './stacks/routes.ts'
import { findMap, listMaps } from './store.ts'
import { updateMap } from './update-map.ts'
import {
  MapBody,
  MapReply,
  SetMapBody,
  SetMapReply,
  WayfindingImportBody,
  mapParams as params,
  parseWayfinding,
  presentMap,
} from './wire.ts'

/** Maps and what belongs to them. Source: contract, Sites Maps, Orgs Maps and Installer. */
export function mapOperations(files: ImageFiles): Operation[] {
  return [
    ...siteMapOperations(files),
    ...mapImageOperations(files),
    ...mapImportOperations(files),
    ...mapStackOperations,
    ...installerMapOperations(files),
  ]
}

const tag = 'Sites Maps'
const single = '/maps/:map_id'

function siteMapOperations(files: ImageFiles): Operation[] {
  return [
    listOperation({
      id: 'listSiteMaps',
      tag,
      at: site('/maps', { needs: 'read' }),
      item: MapReply,
      run: async (ctx, { scope, page }) =>
        presentPage(await listMaps(ctx.db, scope, page), (map) => presentMap(ctx, map)),
    }),
    operation({
      id: 'createSiteMap',
      method: 'POST',
      tag,
      at: site('/maps', { needs: 'write' }),
      body: MapBody,
      reply: MapReply,
      run: async (ctx, { scope, body }) => presentMap(ctx, await createMap(ctx, scope, body)),
    }),
    operation({
      id: 'getSiteMap',
      method: 'GET',
      tag,
      at: site(single, { needs: 'read' }),
      params,
      reply: MapReply,
      run: async (ctx, { scope, params }) => {
        const map = await findMap(ctx.db, scope, params.map_id)
        if (map === undefined) throw notFound(params.map_id)
        return presentMap(ctx, map)
      },
    }),
    operation({
      id: 'updateSiteMap',
      method: 'PUT',
      tag,
      at: site(single, { needs: 'write' }),
      params,
      body: MapBody,
      reply: MapReply,
      run: async (ctx, { scope, params, body }) =>
        presentMap(ctx, await updateMap(ctx, scope, { mapId: params.map_id, change: body })),
    }),
    operation({
      id: 'deleteSiteMap',
      method: 'DELETE',
      tag,
      at: site(single, { needs: 'write' }),
      params,
      reply: Empty,
      run: async (ctx, { scope, params }) => {
        await deleteMap(ctx, scope, { files, mapId: params.map_id })
        return {}
      },
    }),
    ...contentOperations,
  ].flat()
}

/** What a map shows besides its picture. */
const contentOperations: Operation[] = [
  operation({
    id: 'bulkAssignSiteApsToMap',
    method: 'POST',
    tag,
    at: site(`${single}/set_map`, { needs: 'write' }),
    params,
    body: SetMapBody,
    reply: SetMapReply,
    run: async (ctx, { scope, params, body }) => {
      const { moved, locked } = await setMap(ctx, scope, { mapId: params.map_id, macs: body.macs })
      return { moved: [...moved], locked: [...locked] }
    },
  }),
  operation({
    id: 'importSiteWayfindings',
    method: 'POST',
    tag,
    at: site(`${single}/wayfinding/import`, { needs: 'write' }),
    params,
    body: WayfindingImportBody,
    reply: Empty,
    run: async (ctx, { scope, params, body }) => {
      await linkWayfinding(ctx, scope, { mapId: params.map_id, ...parseWayfinding(body) })
      return {}
    },
  }),
].flat()
