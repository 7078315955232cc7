import { Type } from 'typebox'
import { Binary } from '../../http/schemas.ts'

export const ImageNumber = Type.Integer({ minimum: 1, maximum: 3 })

/** For the document only: see readForm(). Source: contract, `image_import`. */
export const DeviceImageForm = {
  content: {
    'multipart/form-data': {
      schema: Type.Object({
        file: Type.Unsafe<unknown>({ ...Binary, description: 'PNG or JPEG' }),
        json: Type.Optional(Type.String({ description: 'a JSON object; nothing in it has an effect' })),
      }),
    },
  },
}
