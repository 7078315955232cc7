import { Type } from 'typebox'

/** Pieces of schemas that every noun's wire.ts uses. */
export const Uuid = Type.String({ format: 'uuid' })

/** Operations that answer nothing answer `{}`: clients parse every body. */
export const Empty = Type.Object({})

/** Epoch seconds with fraction. */
export const Timestamp = Type.Number()

export const ErrorBody = Type.Object(
  { detail: Type.String(), reason: Type.Optional(Type.String()) },
  { $id: 'Error', additionalProperties: true },
)

export const ErrorReply = Type.Ref('Error#')
