import { Type } from 'typebox'

export const DomainParams = Type.Object({ domain: Type.String({ maxLength: 64 }) })

/** Portals of identity providers add their own parameters. */
export const LoginQuery = Type.Object(
  { forward: Type.Optional(Type.String({ maxLength: 2000 })) },
  { additionalProperties: true },
)

/** Base64, in which some programs insert line breaks. */
const Encoded = Type.String({ minLength: 1, pattern: '^[A-Za-z0-9+/=\\s]+$' })

/** RelayState is ignored: the request that we stored determines the browser's next URL. */
export const AcsBody = Type.Object(
  { SAMLResponse: Encoded, again: Type.Optional(Type.String()) },
  { additionalProperties: true },
)

export const LogoutBody = Type.Object(
  { SAMLRequest: Type.Optional(Encoded), SAMLResponse: Type.Optional(Encoded) },
  { additionalProperties: true },
)
