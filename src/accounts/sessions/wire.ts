import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import type { LoggedIn } from './login.ts'

const Email = Type.String({ maxLength: 320 })
/** Longer than any stored password; a longer one is refused like a wrong one, but not hashed. */
const Password = Type.String({ maxLength: 1024, format: 'password' })
/** Six digits, or a recovery code. */
const Code = Type.String({ maxLength: 64 })

export const LoginBody = named(
  'Login',
  Type.Object({ email: Email, password: Password, two_factor: Type.Optional(Code) }),
)

export const LoginReply = named(
  'LoginResult',
  Type.Object({
    email: Type.Optional(Type.String()),
    two_factor_required: Type.Optional(Type.Boolean()),
    two_factor_passed: Type.Optional(Type.Boolean()),
  }),
)

export const TwoFactorBody = named('TwoFactorCode', Type.Object({ two_factor: Code }))

export const LookupBody = named('Lookup', Type.Object({ email: Email }))

export const LookupReply = named('LookupResult', Type.Object({ sso_url: Type.Optional(Type.String()) }))

export const LogoutReply = named('LogoutResult', Type.Object({ forward_url: Type.Optional(Type.String()) }))

/** Empty unless the second factor is still missing. Source: contract, "Login, cookies, second factor". */
export function presentLogin({ email, secondFactor }: LoggedIn): Static<typeof LoginReply> {
  return secondFactor === 'missing' ? { email, two_factor_required: true, two_factor_passed: false } : {}
}
