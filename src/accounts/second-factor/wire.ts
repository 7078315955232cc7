import { Type } from 'typebox'
import { named } from '../../http/schemas.ts'

const Password = Type.Optional(Type.String({ maxLength: 1024, format: 'password' }))
const Code = Type.String({ maxLength: 64 })

/** `qrcode` requests a PNG; without it the reply is the secret as text. */
export const TokenQuery = Type.Object({ by: Type.Optional(Type.Enum(['qrcode'])) })

export const TokenReply = named('TwoFactorSecret', Type.Object({ two_factor_secret: Type.String() }))

export const VerifyBody = named('TwoFactorVerification', Type.Object({ two_factor: Code, password: Password }))

export const ChangeBody = named('TwoFactorChange', Type.Object({ two_factor: Type.Optional(Code), password: Password }))

export const RecoveryCodesReply = named('RecoveryCodes', Type.Object({ recovery_codes: Type.Array(Type.String()) }))
