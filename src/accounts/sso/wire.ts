import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { pagedSearchQuery } from '../../http/lists/search.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import { type Reveal, presentSecrets } from '../../orgs/secrets/secrets.ts'
import type { SamlUrls, Sso } from './sso.ts'
import type { SsoFailure } from './store-failures.ts'
import { storedFields } from './wire-fields.ts'

const Text = Type.Optional(Type.String({ maxLength: 1000 }))
const Address = Type.Optional(textOf('urlOrEmpty', { maxLength: 1000 }))

const settable = {
  idp_type: Type.Optional(
    Type.Enum(['saml', 'ldap', 'mxedge_proxy', 'oauth', 'openroaming'], {
      default: 'saml',
      description: 'people sign in with `saml` only; the fields of the other types are stored',
    }),
  ),
  issuer: Text,
  idp_cert: Type.Optional(Type.String({ maxLength: 20_000, description: 'certificate of the identity provider, PEM' })),
  idp_sign_algo: Type.Optional(
    Type.Enum(['sha1', 'sha256', 'sha384', 'sha512'], {
      description: 'the weakest that is accepted; default sha256. Signatures with sha384 itself are never accepted',
    }),
  ),
  idp_sso_url: Address,
  nameid_format: Type.Optional(Type.Enum(['email', 'unspecified'], { default: 'email' })),
  custom_logout_url: Address,
  role_attr_from: Type.Optional(Type.String({ maxLength: 200, default: 'Role' })),
  role_attr_extraction: Type.Optional(
    Type.String({ maxLength: 20, description: '`CN`; with another one nobody can sign in' }),
  ),
  default_role: Text,
  ignore_unmatched_roles: Type.Optional(Type.Boolean({ default: false })),
  scim_enabled: Type.Optional(Type.Boolean({ default: false })),
  ...storedFields,
}

const Name = Type.String({ minLength: 1, maxLength: 200 })

export const CreateSsoBody = named(
  'SsoCreate',
  Type.Object({ name: Name, ...settable }, { additionalProperties: true }),
)
export const UpdateSsoBody = named(
  'SsoUpdate',
  Type.Object({ name: Type.Optional(Name), ...settable }, { additionalProperties: true }),
)
export const SsoReply = named(
  'Sso',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      domain: Type.String({ description: 'part of the addresses that the identity provider is given' }),
      name: Name,
      ...settable,
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** @param reveal False presents the other secrets as unset. */
export function presentSso(
  { orgId, id, domain, doc, createdAt, modifiedAt }: Sso,
  reveal: Reveal,
): Static<typeof SsoReply> {
  return {
    name: doc.name,
    ...presentSecrets({ ...doc }, reveal),
    idp_type: doc.idp_type ?? 'saml',
    id,
    org_id: orgId,
    domain,
    created_time: epochS(createdAt),
    modified_time: epochS(modifiedAt),
  }
}

export const MetadataReply = named(
  'SamlMetadata',
  Type.Object({
    acs_url: Type.String(),
    entity_id: Type.String(),
    logout_url: Type.String(),
    metadata: Type.String({ description: 'XML' }),
    warnings: Type.Optional(Type.Array(Type.String(), { description: "reasons why people can't sign in" })),
  }),
)

/** @param warnings From loginWarnings(). */
export function presentMetadata(
  urls: SamlUrls,
  { metadata, warnings }: { readonly metadata: string; readonly warnings: readonly string[] },
): Static<typeof MetadataReply> {
  return {
    acs_url: urls.acsUrl,
    entity_id: urls.entityId,
    logout_url: urls.logoutUrl,
    metadata,
    ...(warnings.length > 0 && { warnings: [...warnings] }),
  }
}

export const DeleteAdminsBody = named(
  'SsoAdminsDelete',
  Type.Object({
    emails: Type.Array(Type.String({ maxLength: 320 }), { maxItems: 1000 }),
  }),
)
export const DeleteAdminsReply = named(
  'SsoAdminsDeleteResult',
  Type.Object({
    deleted: Type.Array(Type.String()),
    errors: Type.Array(Type.String(), { description: 'addresses without an account' }),
  }),
)

export const FailuresQuery = Type.Object({ ...pagedSearchQuery })
export const FailuresReply = named(
  'SsoFailureSearchResult',
  Type.Object({
    results: Type.Array(
      named(
        'SsoFailure',
        Type.Object({ timestamp: Timestamp, detail: Type.String(), saml_assertion_xml: Type.String() }),
      ),
    ),
  }),
)

/** @param withAssertion Only administrators may read the identity provider's data about people. */
export function presentFailure(
  { detail, assertion, createdAt }: SsoFailure,
  withAssertion: boolean,
): Static<typeof FailuresReply>['results'][number] {
  return { timestamp: epochS(createdAt), detail, saml_assertion_xml: withAssertion ? assertion : '' }
}
