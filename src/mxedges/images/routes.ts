import { Type } from 'typebox'
import { org } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { PhotoForm, receivePhoto } from '../../http/bodies/photo-forms.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import type { ImageFiles } from '../../platform/images/image-files.ts'
import { getMxedge } from '../store.ts'
import { deleteImage, upsertImage } from './upsert-image.ts'
import { getImageBytes } from './store.ts'

const tag = 'Orgs MxEdges'
const at = org('/mxedges/:mxedge_id/image/:image_number', { needs: 'write' })
const params = { mxedge_id: Uuid, image_number: Type.Integer({ minimum: 1, maximum: 3 }) }

/** Pictures of edge appliances. Source: contract, Orgs MxEdges. */
export function mxedgeImageOperations(files: ImageFiles): Operation[] {
  return [
    operation({
      id: 'addOrgMxEdgeImage',
      summary: 'Upload a photograph of an edge appliance',
      method: 'POST',
      tag,
      at,
      params,
      body: PhotoForm,
      reply: Empty,
      run: async (ctx, { scope, params, request }) => {
        // Refuses an unknown appliance before megabytes are read.
        const { id } = await getMxedge(ctx.db, scope, params.mxedge_id)
        const number = params.image_number
        const replacedBytes = await getImageBytes(ctx.db, scope, { mxedgeId: id, number })
        const received = await receivePhoto(request, files, { orgId: scope.orgId, replacedBytes })
        await upsertImage(ctx, scope, { files, mxedgeId: id, number, received })
      },
    }),
    operation({
      id: 'deleteOrgMxEdgeImage',
      summary: 'Delete a photograph of an edge appliance',
      method: 'DELETE',
      tag,
      at,
      params,
      reply: Empty,
      run: (ctx, { scope, params }) =>
        deleteImage(ctx, scope, { files, mxedgeId: params.mxedge_id, number: params.image_number }),
    }),
  ].flat()
}
