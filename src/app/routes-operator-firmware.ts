import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { type CheckedFile, checkImport } from '../firmware/check-import.ts'
import type { FirmwareFiles } from '../firmware/firmware.ts'
import { moveNextImage } from '../firmware/move-images.ts'
import type { ImportStep } from '../firmware/plan-import.ts'
import { type UploadRequest, receiveUpload } from '../firmware/routes-upload.ts'
import { UploadQuery, parseOffer } from '../firmware/wire.ts'
import { Uuid } from '../http/schemas.ts'
import { takeStreams } from '../http/streams.ts'
import { check } from '../http/validate.ts'
import type { Context } from '../platform/context.ts'
import { AppError } from '../platform/errors.ts'
import { getOperatorScope } from './operator-scope.ts'

const Params = Type.Object({ org_id: Uuid })
const MAX_FILES = 1000

const CheckBody = Type.Object({
  files: Type.Array(
    Type.Object({
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      size: Type.Integer({ minimum: 1 }),
      /** As in the query of an upload. */
      query: Type.Unknown(),
    }),
    { maxItems: MAX_FILES },
  ),
})

/** Operations of the operator on the firmware of any organization. */
export function operatorFirmwareRoutes(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    // One image per call, so that no answer takes longer than a connection may be silent.
    http.post('/firmware/move', { schema: { hide: true } }, async () => moveNextImage(ctx, files))

    http.post(
      '/orgs/:org_id/firmware/check',
      { schema: { hide: true, params: Params, body: CheckBody } },
      async ({ params, body }) => {
        const scope = await getOperatorScope(ctx, params.org_id)
        const steps = await checkImport(ctx, scope, { files, given: body.files.map(parseFile) })
        return { files: steps.map(presentStep) }
      },
    )

    await http.register(uploadRoute(ctx, files))
  }
}

function uploadRoute(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    takeStreams(http)
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

function presentStep(step: ImportStep): object {
  return step.kind === 'refused' ? { status: step.kind, problem: step.problem } : { status: step.kind }
}

function parseFile({ sha256, size: sizeBytes, query }: Static<typeof CheckBody>['files'][number]): CheckedFile {
  try {
    return { ...parseOffer(check(UploadQuery, query)), sha256, sizeBytes }
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
