import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { readForm, takeForms } from '../../http/forms.ts'
import { Empty, OrgParams, Uuid } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { type ImageFiles, discardImage, receiveImage } from '../../platform/images/image-files.ts'
import { getMxedge } from '../store.ts'
import { deleteImage, setImage } from './set-image.ts'
import { getImageBytes } from './store.ts'

const tags = ['Orgs MxEdges']
const url = '/orgs/:org_id/mxedges/:mxedge_id/image/:image_number'
const ImageParams = Type.Object({
  ...OrgParams.properties,
  mxedge_id: Uuid,
  image_number: Type.Integer({ minimum: 1, maximum: 3 }),
})

/** For the document only: forms are read part by part, and there is no body yet when this is checked. */
const ImageForm = {
  content: {
    'multipart/form-data': {
      schema: Type.Object({
        file: Type.Optional(Type.Unsafe<unknown>({ type: 'string', format: 'binary' })),
        json: Type.Optional(Type.String({ description: 'nothing in it has a meaning' })),
      }),
    },
  },
}

/** Pictures of edge appliances. Source: contract, Orgs MxEdges. */
export function mxedgeImageRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(uploadRoute(ctx, files))

    http.delete(
      url,
      { schema: { operationId: 'deleteOrgMxEdgeImage', tags, params: ImageParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        await deleteImage(ctx, scope, { files, mxedgeId: params.mxedge_id, number: params.image_number })
        return {}
      },
    )
  }
}

function uploadRoute(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    await takeForms(http)

    http.route({
      method: 'POST',
      url,
      schema: {
        operationId: 'addOrgMxEdgeImage',
        tags,
        params: ImageParams,
        body: ImageForm,
        response: { 200: Empty },
      },
      handler: async (request) => {
        const { caller, params } = request
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        // Before megabytes are read for nothing.
        const { id } = await getMxedge(ctx.db, scope, params.mxedge_id)
        const number = params.image_number
        const replacedBytes = await getImageBytes(ctx.db, scope, { mxedgeId: id, number })
        const { file: received } = await readForm(request, {
          file: 'file',
          maxBytes: files.maxBytes,
          take: ({ body, type: declaredType }) =>
            receiveImage(files, { orgId: scope.orgId, replacedBytes, body, declaredType }),
          discard: discardImage,
        })
        await setImage(ctx, scope, { files, mxedgeId: id, number, received })
        return {}
      },
    })
  }
}
