import { site } from '../http/at.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty } from '../http/schemas.ts'
import { SetMapBody, SetMapReply, mapParams as params } from '../maps/wire.ts'
import { installerSite } from '../orgs/installers/at.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { deleteMap } from './delete-map.ts'
import { mapImageOperations } from './routes-images.ts'
import { mapImportOperations } from './routes-import.ts'
import { placeOnMap } from './place-on-map.ts'

const tag = 'Sites Maps'
const single = '/maps/:map_id'

/** Operations that place devices on maps, move or remove them. Source: contract, Sites Maps, Orgs Maps and Installer. */
export function placementOperations(files: ImageFiles): Operation[] {
  return [
    ...mapImageOperations(files),
    ...mapImportOperations(files),
    operation({
      id: 'bulkAssignSiteApsToMap',
      summary: 'Place access points on a floor plan',
      method: 'POST',
      tag,
      at: site(`${single}/set_map`, { needs: 'write' }),
      params,
      body: SetMapBody,
      reply: SetMapReply,
      run: async (ctx, { scope, params, body }) => {
        const { moved, locked } = await placeOnMap(ctx, scope, { mapId: params.map_id, macs: body.macs })
        return { moved: [...moved], locked: [...locked] }
      },
    }),
    operation({
      id: 'deleteSiteMap',
      summary: 'Delete a floor plan',
      method: 'DELETE',
      tag,
      at: site(single, { needs: 'write' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params }) => deleteMap(ctx, scope, { files, mapId: params.map_id }),
    }),
    operation({
      id: 'deleteInstallerMap',
      summary: 'Delete a floor plan as an installer',
      method: 'DELETE',
      tag: 'Installer',
      at: installerSite(single),
      params,
      reply: Empty,
      run: (ctx, { scope: { site }, params }) => deleteMap(ctx, site, { files, mapId: params.map_id }),
    }),
  ].flat()
}
