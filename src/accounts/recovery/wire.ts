import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { captchaFields, parseCaptcha } from '../registration/wire.ts'
import type { RecoveryRequest } from './recover.ts'

export const RecoverBody = named(
  'PasswordRecovery',
  Type.Object({ email: Type.String({ maxLength: 320 }), ...captchaFields }),
)

export const ResetBody = named(
  'PasswordReset',
  Type.Object({
    password: Type.Optional(
      Type.String({
        maxLength: 512,
        format: 'password',
        description: 'without, the old one is void and PUT /self sets another',
      }),
    ),
  }),
)

export function parseRecovery(body: Static<typeof RecoverBody>, srcIp: string): RecoveryRequest {
  return { email: body.email.trim().toLowerCase(), captcha: parseCaptcha(body), srcIp }
}
