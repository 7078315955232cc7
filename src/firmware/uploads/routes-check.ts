import { type Static, Type } from 'typebox'
import type { OrgScope } from '../../access/scope.ts'
import { named } from '../../http/schemas.ts'
import { check } from '../../http/validate.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { type CheckedFile, checkImport } from './check-import.ts'
import type { FirmwareFiles } from '../firmware.ts'
import { UploadQuery, parseOffer } from '../wire.ts'

const MAX_FILES = 1000

const Candidate = Type.Object({
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  size: Type.Integer({ minimum: 1, description: 'bytes' }),
  // Not the schema of the query: an invalid value is the result of its file and must not fail the whole request.
  query: Type.Object({}, { additionalProperties: true, description: 'the parameters of its upload' }),
})

/** Files that are to be uploaded. */
export const CheckBody = named(
  'FirmwareCheckRequest',
  Type.Object({ files: Type.Array(Candidate, { maxItems: MAX_FILES }) }),
)

export const CheckReply = named(
  'FirmwareCheck',
  Type.Object({
    files: Type.Array(
      Type.Object({
        status: Type.Enum(['present', 'new', 'changed', 'refused'], {
          description:
            '`new`: the image is not stored; `changed`: it is, but not with all of these parameters; `present`: an upload would change nothing',
        }),
        problem: Type.Optional(Type.String({ description: 'why an upload would be refused' })),
      }),
      { description: 'in the order of the request' },
    ),
  }),
)

/**
 * Returns the results that uploads of the files would have in this order. Changes nothing.
 * @throws AppError as checkImport().
 */
export async function receiveCheck(
  ctx: Context,
  scope: OrgScope,
  { files, body }: { readonly files: FirmwareFiles; readonly body: Static<typeof CheckBody> },
): Promise<Static<typeof CheckReply>> {
  const steps = await checkImport(ctx, scope, { files, given: body.files.map(parseCandidate) })
  return {
    files: steps.map((step) =>
      step.kind === 'refused' ? { status: step.kind, problem: step.problem } : { status: step.kind },
    ),
  }
}

function parseCandidate({ sha256, size: sizeBytes, query }: Static<typeof Candidate>): CheckedFile {
  try {
    return { ...parseOffer(check(UploadQuery, query)), sha256, sizeBytes }
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
