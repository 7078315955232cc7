import { type Static, Type } from 'typebox'
import { type FormFields, jsonPart } from '../http/bodies/forms.ts'
import { Binary, named } from '../http/schemas.ts'
import { closeBody } from '../http/bodies/closed-bodies.ts'
import { check } from '../http/validate.ts'
import type { MapDocument } from '../maps/map.ts'
import type { Transform } from './plan-transform.ts'
import { MapBody } from '../maps/wire.ts'

/** For the document only: forms are read part by part, and each part is checked as it arrives. */
export const ImageForm = {
  content: {
    'multipart/form-data': {
      schema: Type.Object({ file: Binary, json: Type.Optional(Type.String()) }),
    },
  },
}

/** Parses the fields of the map that change with its picture. @throws AppError invalid. */
export function parseImageChange(fields: FormFields): MapDocument {
  return check(MapBody, jsonPart(fields, 'json'))
}

/** Beyond the width of any picture. */
const FAR = 1e6

const TransformPart = named(
  'MapTransform',
  Type.Object({
    rotation: Type.Optional(Type.Number({ minimum: -FAR, maximum: FAR })),
    scale: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: FAR })),
    x: Type.Optional(Type.Number({ minimum: -FAR, maximum: FAR })),
    y: Type.Optional(Type.Number({ minimum: -FAR, maximum: FAR })),
  }),
)
const ReplacePart = closeBody(Type.Object({ transform: Type.Optional(TransformPart) }))

export const ReplaceForm = {
  content: {
    'multipart/form-data': {
      schema: Type.Object({ file: Binary, json: Type.Optional(ReplacePart) }),
    },
  },
}

/** Null if nothing is to move. @throws AppError invalid. */
export function parseTransform(fields: FormFields): Transform | null {
  const { transform }: Static<typeof ReplacePart> = check(ReplacePart, jsonPart(fields, 'json'))
  if (transform === undefined) return null
  const { rotation: rotationDegrees = 0, scale = 1, x = 0, y = 0 } = transform
  return { rotationDegrees, scale, x, y }
}
