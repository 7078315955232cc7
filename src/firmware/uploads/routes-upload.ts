import { Readable } from 'node:stream'
import type { IncomingHttpHeaders } from 'node:http'
import type { Static } from 'typebox'
import type { OrgScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { uploadTooLarge } from '../../platform/storage/uploads.ts'
import type { FirmwareFiles } from '../firmware.ts'
import { uploadImage } from './upload-image.ts'
import { type UploadQuery, type UploadReply, parseOffer, presentUpload } from '../wire.ts'

export interface UploadRequest {
  readonly files: FirmwareFiles
  readonly query: Static<typeof UploadQuery>
  readonly request: { readonly headers: IncomingHttpHeaders; readonly body: unknown }
}

/** Stores the image that is the body of a request. @throws AppError as uploadImage(). */
export async function receiveUpload(
  ctx: Context,
  scope: OrgScope,
  { files, query, request: { headers, body } }: UploadRequest,
): Promise<Static<typeof UploadReply>> {
  const offer = parseOffer(query)
  const length = headers['content-length']
  const declaredBytes = length === undefined ? undefined : Number(length)
  if (declaredBytes !== undefined && declaredBytes > files.maxBytes) throw uploadTooLarge(files.maxBytes)
  const image = imageIn(body, headers['content-type'])
  return presentUpload(scope.orgId, await uploadImage(ctx, scope, { files, body: image, declaredBytes, offer }))
}

function imageIn(body: unknown, contentType = ''): Readable {
  // The boundaries of a form would become part of the image.
  if (/^multipart\//i.test(contentType)) throw new AppError('invalid', 'Send the image as the body itself, not a form')
  if (body instanceof Readable) return body
  throw new AppError('invalid', 'The body is empty: send the image as it is')
}
