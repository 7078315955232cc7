import { type Static, Type } from 'typebox'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { Timestamp, Uuid, asTheyAre, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { OrgPrivilegeReply, PrivilegeBody, parsePrivileges, presentPrivilegeOf } from '../wire-privileges.ts'
import type { SsoRoleContent } from './sso-roles.ts'
import type { SsoRole } from './store-roles.ts'

const Name = Type.String({ minLength: 1, maxLength: 200 })
const Privileges = Type.Array(PrivilegeBody, { minItems: 1, maxItems: 100 })

export const CreateSsoRoleBody = named(
  'SsoRoleCreate',
  Type.Object({ name: Name, privileges: Privileges, ...asTheyAre(readOnlyOf('SsoRole')) }),
)
export const UpdateSsoRoleBody = named(
  'SsoRoleUpdate',
  Type.Object({
    name: Type.Optional(Name),
    privileges: Type.Optional(Privileges),
    ...asTheyAre(readOnlyOf('SsoRole')),
  }),
)
export const SsoRoleReply = named(
  'SsoRole',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    name: Type.String(),
    privileges: Type.Array(OrgPrivilegeReply),
    for_site: Type.Boolean(),
    created_time: Timestamp,
    modified_time: Timestamp,
  }),
)

export function parseSsoRole(orgId: string, body: Static<typeof CreateSsoRoleBody>): SsoRoleContent {
  return { name: body.name, privileges: parsePrivileges(orgId, body.privileges) }
}

export function parseSsoRoleChange(orgId: string, body: Static<typeof UpdateSsoRoleBody>): Partial<SsoRoleContent> {
  const { name, privileges } = body
  return {
    ...(name !== undefined && { name }),
    ...(privileges !== undefined && { privileges: parsePrivileges(orgId, privileges) }),
  }
}

export function presentSsoRole(role: SsoRole): Static<typeof SsoRoleReply> {
  return {
    id: role.id,
    org_id: role.orgId,
    name: role.name,
    privileges: role.privileges.map((privilege) => presentPrivilegeOf(role.orgId, privilege)),
    for_site: false,
    created_time: epochS(role.createdAt),
    modified_time: epochS(role.modifiedAt),
  }
}
