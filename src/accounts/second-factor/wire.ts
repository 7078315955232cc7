import { Type } from 'typebox'

const Password = Type.Optional(Type.String({ maxLength: 1024, format: 'password' }))
const Code = Type.String({ maxLength: 64 })

/** `qrcode` asks for a PNG; without it the reply is the secret as text. */
export const TokenQuery = Type.Object({ by: Type.Optional(Type.Enum(['qrcode'])) })

export const TokenReply = Type.Object({ two_factor_secret: Type.String() })

export const VerifyBody = Type.Object({ two_factor: Code, password: Password })

export const ChangeBody = Type.Object({ two_factor: Type.Optional(Code), password: Password })

export const RecoveryCodesReply = Type.Object({ recovery_codes: Type.Array(Type.String()) })
