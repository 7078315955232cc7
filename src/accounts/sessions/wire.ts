import { Type } from 'typebox'

export const LoginBody = Type.Object(
  {
    email: Type.String({ maxLength: 320 }),
    password: Type.String({ maxLength: 128, format: 'password' }),
    two_factor: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { additionalProperties: true },
)
