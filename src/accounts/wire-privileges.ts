import { type Static, Type } from 'typebox'
import { Uuid, named } from '../http/schemas.ts'
import { invalidField } from '../platform/errors.ts'
import type { WirePrivilege } from '../access/tables.ts'

const scopes = ['org', 'site', 'sitegroup'] as const
const roles = ['admin', 'write', 'read', 'helpdesk', 'installer'] as const

const views = Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 20 }))

export const PrivilegeBody = named(
  'PrivilegeGrant',
  Type.Object(
    {
      scope: Type.Enum([...scopes]),
      role: Type.Enum([...roles]),
      org_id: Type.Optional(Uuid),
      site_id: Type.Optional(Uuid),
      sitegroup_id: Type.Optional(Uuid),
      sitegroup_ids: Type.Optional(Type.Array(Uuid, { maxItems: 100 })),
      views,
    },
    { additionalProperties: true, description: 'views restrict what a user interface shows' },
  ),
)

export const OrgPrivilegeReply = named(
  'Privilege',
  Type.Object({
    scope: Type.Enum([...scopes]),
    role: Type.Enum([...roles]),
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    sitegroup_id: Type.Optional(Uuid),
    sitegroup_ids: Type.Optional(Type.Array(Uuid)),
    views,
  }),
)

/**
 * Parses privileges in one organization and drops duplicates. A privilege with several site groups becomes one for
 * each.
 *
 * @throws AppError invalid for a privilege in another organization, or without the site or site group that its scope
 *   needs.
 */
export function parsePrivileges(orgId: string, wire: readonly Static<typeof PrivilegeBody>[]): WirePrivilege[] {
  const privileges = wire.flatMap((privilege, index) => parsePrivilege(orgId, privilege, `privileges.${index}`))
  return [...new Map(privileges.map((privilege) => [JSON.stringify(privilege), privilege])).values()]
}

function parsePrivilege(orgId: string, wire: Static<typeof PrivilegeBody>, field: string): WirePrivilege[] {
  const { scope, role, org_id, site_id, sitegroup_id, sitegroup_ids = [], views = [] } = wire
  if (org_id !== undefined && org_id !== orgId) throw invalidField(`${field}.org_id`, 'is another organization')
  const granted = { scope, role, ...(views.length > 0 && { views }) }
  if (scope === 'org') return [granted]
  if (scope === 'site') {
    if (site_id === undefined) throw invalidField(`${field}.site_id`, 'is required')
    return [{ ...granted, site_id }]
  }
  const groups = sitegroup_id === undefined ? sitegroup_ids : [sitegroup_id]
  if (groups.length === 0) throw invalidField(`${field}.sitegroup_id`, 'is required')
  return groups.map((group) => Object.assign({ sitegroup_id: group }, granted))
}

/** Presents a site group under both of its names: clients read the singular of tokens and the plural of admins. */
export function presentPrivilegeOf(orgId: string, privilege: WirePrivilege): Static<typeof OrgPrivilegeReply> {
  const { scope, role, site_id, sitegroup_id, views } = privilege
  return {
    scope,
    role,
    org_id: orgId,
    ...(site_id !== undefined && { site_id }),
    ...(sitegroup_id !== undefined && { sitegroup_id, sitegroup_ids: [sitegroup_id] }),
    ...(views !== undefined && { views: [...views] }),
  }
}
