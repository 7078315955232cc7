import { type Static, Type } from 'typebox'
import type { Principal, Privilege } from '../access/principal.ts'
import { Timestamp, Uuid } from '../http/schemas.ts'
import { epochS } from '../platform/clock.ts'

export const LoginBody = Type.Object(
  {
    email: Type.String({ maxLength: 320 }),
    password: Type.String({ maxLength: 128, format: 'password' }),
    two_factor: Type.Optional(Type.String()),
  },
  { additionalProperties: true },
)

const PrivilegeReply = Type.Object({
  scope: Type.String(),
  role: Type.String(),
  org_id: Uuid,
  org_name: Type.String(),
  name: Type.String(),
  site_id: Type.Optional(Uuid),
})

export const SelfReply = Type.Object({
  admin_id: Uuid,
  email: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  privileges: Type.Array(PrivilegeReply),
  two_factor_verified: Type.Boolean(),
  enable_two_factor: Type.Boolean(),
  via_sso: Type.Boolean(),
  password_modified_time: Type.Optional(Timestamp),
})

/** The account record. Source: contract, GET /self. */
export function presentSelf(principal: Principal): Static<typeof SelfReply> {
  return {
    admin_id: principal.adminId,
    email: principal.email,
    first_name: principal.firstName,
    last_name: principal.lastName,
    privileges: principal.privileges.map(presentPrivilege),
    two_factor_verified: false,
    enable_two_factor: false,
    via_sso: false,
    ...(principal.passwordModifiedAt && { password_modified_time: epochS(principal.passwordModifiedAt) }),
  }
}

function presentPrivilege(privilege: Privilege): Static<typeof PrivilegeReply> {
  return {
    scope: privilege.scope,
    role: privilege.role,
    org_id: privilege.orgId,
    org_name: privilege.orgName,
    name: privilege.orgName,
    ...(privilege.siteId !== null && { site_id: privilege.siteId }),
  }
}
