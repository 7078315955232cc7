import { Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { PasswordProof } from '../wire-proof.ts'

export const ProviderParams = Type.Object({ provider: Type.String({ maxLength: 64 }) })

export const ProvidersReply = named('OauthProviders', Type.Object({ providers: Type.Array(Type.String()) }))

export const ForwardQuery = Type.Object({
  forward: Type.Optional(Type.String({ maxLength: 2048, description: 'where to lead the browser with `?code=`' })),
})

export const CodeBody = named('OauthCode', Type.Object({ code: Type.String({ minLength: 1, maxLength: 4096 }) }))

export const LinkBody = named(
  'OauthLink',
  Type.Object({ ...CodeBody.properties, password: Type.Optional(PasswordProof) }),
)

/** The query of the provider's redirect, which may have other parameters too. */
export const CallbackQuery = Type.Object(
  {
    state: Type.Optional(Type.String({ maxLength: 256 })),
    code: Type.Optional(Type.String({ maxLength: 4096 })),
    iss: Type.Optional(Type.String({ maxLength: 1024 })),
    error: Type.Optional(Type.String({ maxLength: 256 })),
    error_description: Type.Optional(Type.String({ maxLength: 2048 })),
  },
  { additionalProperties: true },
)

export const LinkUrlReply = named(
  'OauthLinkUrl',
  Type.Object({ linked: Type.Boolean(), authorization_url: Type.String() }),
)

export const LoginUrlReply = named(
  'OauthLoginUrl',
  Type.Object({ client_id: Type.String(), authorization_url: Type.String() }),
)

/** `id` is the user identifier at the provider. */
export const LinkedReply = named('OauthLinkResult', Type.Object({ action: Type.String(), id: Type.String() }))

export const OauthErrorReply = named(
  'OauthError',
  Type.Object({
    detail: Type.String({ description: 'the reason, for people' }),
    reason: Type.Optional(Type.String({ description: 'the cause, where `detail` names a field' })),
    error: Type.Optional(Type.String({ description: 'as RFC 6749, 5.2 names it, where the provider refused' })),
    error_description: Type.Optional(Type.String()),
  }),
)
