import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { FirmwareFiles } from '../../firmware/firmware.ts'
import { moveNextImage } from '../../firmware/storage/move-images.ts'
import { CheckBody, receiveCheck } from '../../firmware/uploads/routes-check.ts'
import { type UploadRequest, receiveUpload } from '../../firmware/uploads/routes-upload.ts'
import { UploadQuery } from '../../firmware/wire.ts'
import { Uuid } from '../../http/schemas.ts'
import { acceptStreams } from '../../http/bodies/streams.ts'
import type { Context } from '../../platform/context.ts'
import { getOperatorScope } from './operator-scope.ts'

const Params = Type.Object({ org_id: Uuid })

/** Operations of the operator on the firmware of any organization. */
export function operatorFirmwareRoutes(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    // One image per call, so that no answer takes longer than a connection may be silent.
    http.post('/firmware/move', { schema: { hide: true } }, async () => moveNextImage(ctx, files))

    http.post(
      '/orgs/:org_id/firmware/check',
      { schema: { hide: true, params: Params, body: CheckBody } },
      async ({ params, body }) => receiveCheck(ctx, await getOperatorScope(ctx, params.org_id), { files, body }),
    )

    await http.register(uploadRoute(ctx, files))
  }
}

function uploadRoute(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    acceptStreams(http)
    http.post(
      '/orgs/:org_id/firmware',
      { schema: { hide: true, params: Params, querystring: UploadQuery } },
      (request) => upload(ctx, files, request),
    )
  }
}

async function upload(
  ctx: Context,
  files: FirmwareFiles,
  request: UploadRequest['request'] & {
    readonly params: Static<typeof Params>
    readonly query: Static<typeof UploadQuery>
  },
): Promise<unknown> {
  const scope = await getOperatorScope(ctx, request.params.org_id)
  return receiveUpload(ctx, scope, { files, query: request.query, request })
}
