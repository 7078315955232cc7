import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import {
  type ImageFiles,
  type ImageUpload,
  type ReceivedImage,
  discardImage,
  receiveImage,
} from '../../platform/images/image-files.ts'
import { readForm } from './forms.ts'
import { Binary } from '../schemas.ts'

/** A form with a photograph. For the document only: see readForm(). Source: contract, `image_import`. */
export const PhotoForm = {
  content: {
    'multipart/form-data': {
      schema: Type.Object({
        file: Type.Unsafe<unknown>({ ...Binary, description: 'PNG or JPEG' }),
        json: Type.Optional(Type.String({ description: 'a JSON object; nothing in it has an effect' })),
      }),
    },
  },
}

/**
 * Receives the photograph of a form.
 * @throws AppError as readForm() and receiveImage().
 */
export async function receivePhoto(
  request: FastifyRequest,
  files: ImageFiles,
  room: Pick<ImageUpload, 'orgId' | 'replacedBytes'>,
): Promise<ReceivedImage> {
  const { file } = await readForm(request, {
    file: 'file',
    texts: ['json'],
    maxBytes: files.maxBytes,
    take: ({ body, type: declaredType }) => receiveImage(files, { ...room, body, declaredType }),
    discard: discardImage,
  })
  return file
}
