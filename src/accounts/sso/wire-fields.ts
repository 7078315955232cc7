import { Type } from 'typebox'

const Text = Type.Optional(Type.String({ maxLength: 1000 }))
const LongText = Type.Optional(Type.String({ maxLength: 20_000 }))
const Texts = Type.Optional(Type.Array(Type.String({ maxLength: 20_000 }), { maxItems: 100 }))
const Other = Type.Optional(Type.Object({}, { additionalProperties: true }))

/**
 * Fields of identity providers that Signalbox stores without acting on them. Source: contract, `sso`, and its changes of
 * the current release.
 */
export const storedFields = {
  group_filter: Text,
  ldap_base_dn: Text,
  ldap_bind_dn: Text,
  ldap_bind_password: Text,
  ldap_cacerts: Texts,
  ldap_client_cert: LongText,
  ldap_client_key: LongText,
  ldap_group_attr: Text,
  ldap_group_dn: Text,
  ldap_resolve_groups: Type.Optional(Type.Boolean()),
  ldap_server_hosts: Texts,
  ldap_type: Type.Optional(Type.Enum(['azure', 'custom', 'google', 'okta'])),
  ldap_user_filter: Text,
  member_filter: Text,
  mxedge_proxy: Other,
  oauth_cc_client_id: Text,
  oauth_cc_client_secret: Text,
  oauth_discovery_url: Text,
  oauth_ping_identity_region: Type.Optional(Type.Enum(['asia', 'au', 'ca', 'eu', 'us'])),
  oauth_provider_domain: Text,
  oauth_ropc_client_id: Text,
  oauth_ropc_client_secret: Text,
  oauth_tenant_id: Text,
  // The contract has no `standards`, which the Terraform provider sends for the `azure` of its own.
  oauth_type: Type.Optional(
    Type.Enum(['azure', 'azure-gov', 'okta', 'ping_identity', 'standards'], {
      description: 'stored without effect; `standards` is what the Terraform provider sends for `azure`',
    }),
  ),
  openroaming: Type.Optional(
    Type.Object(
      { ssids: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100 }), wba_cert: LongText },
      { additionalProperties: true },
    ),
  ),
  openroaming_ssids: Texts,
  openroaming_wba_client_cert: LongText,
  openroaming_wba_client_key: LongText,
  scim_secret_token: Text,
}
