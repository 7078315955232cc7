import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import { Uuid, named } from '../http/schemas.ts'
import { invalidField } from '../platform/errors.ts'
import type { WirePrivilege } from '../access/tables.ts'

const scopes = ['org', 'orgsites', 'site', 'sitegroup'] as const
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
      msp_id: Type.Optional(Type.String({ format: 'uuid', description: 'refused: there are no service providers' })),
      orggroup_ids: Type.Optional(Type.Array(Uuid, { description: 'empty: there are no groups of organizations' })),
      views,
    },
    {
      additionalProperties: true,
      description:
        '`orgsites` means all sites, but not the organization itself; views restrict what a user interface shows',
    },
  ),
)

/** A privilege of a token or a role, which names one site group. */
export const OrgPrivilegeReply = named(
  'Privilege',
  Type.Object({
    scope: Type.Enum([...scopes]),
    role: Type.Enum([...roles]),
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    sitegroup_id: Type.Optional(Uuid),
    views,
  }),
)

/** A privilege of a person, which names any number of site groups. */
export const AdminPrivilegeReply = named(
  'AdminPrivilege',
  Type.Object({
    scope: Type.Enum([...scopes]),
    role: Type.Enum([...roles]),
    org_id: Uuid,
    org_name: Type.String(),
    name: Type.String({ description: 'of the organization' }),
    site_id: Type.Optional(Uuid),
    sitegroup_ids: Type.Optional(Type.Array(Uuid)),
    orggroup_ids: Type.Array(Uuid, { description: 'empty: there are no groups of organizations' }),
    views,
  }),
)

/**
 * Parses privileges in one organization and drops duplicates. A privilege with several site groups becomes one for
 * each.
 *
 * @throws AppError invalid for a privilege in another organization, without the site or site group that its scope
 *   needs, or with a place that does not belong to its scope.
 */
export function parsePrivileges(orgId: string, wire: readonly Static<typeof PrivilegeBody>[]): WirePrivilege[] {
  const privileges = wire.flatMap((privilege, index) => parsePrivilege(orgId, privilege, `privileges.${index}`))
  return [...new Map(privileges.map((privilege) => [JSON.stringify(privilege), privilege])).values()]
}

function parsePrivilege(orgId: string, wire: Static<typeof PrivilegeBody>, field: string): WirePrivilege[] {
  const { scope, role, org_id, site_id, views } = wire
  if (org_id !== undefined && org_id !== orgId) throw invalidField(`${field}.org_id`, 'is another organization')
  assertPlaceOf(wire, field)
  const granted = { scope, role, ...(views !== undefined && { views }) }
  if (scope === 'org' || scope === 'orgsites') return [granted]
  if (scope === 'site') {
    if (site_id === undefined) throw invalidField(`${field}.site_id`, 'is required')
    return [{ ...granted, site_id }]
  }
  const groups = groupsOf(wire, field)
  if (groups.length === 0) throw invalidField(`${field}.sitegroup_id`, 'is required')
  return groups.map((group) => Object.assign({ sitegroup_id: group }, granted))
}

/** The members that name the place of a privilege, each with the only scope that may have it. */
const places = {
  site_id: 'site',
  sitegroup_id: 'sitegroup',
  sitegroup_ids: 'sitegroup',
  msp_id: 'msp',
  orggroup_ids: 'orggroup',
} as const

/**
 * A client that sends a site with a privilege for the whole organization must not believe that it is limited to the
 * site.
 */
function assertPlaceOf(wire: Static<typeof PrivilegeBody>, field: string): void {
  for (const [name, scope] of Object.entries(places)) {
    const value: unknown = Reflect.get(wire, name)
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0)
    if (!isEmpty && wire.scope !== scope)
      throw invalidField(`${field}.${name}`, `does not belong to a privilege of scope ${wire.scope}`)
  }
}

function groupsOf({ sitegroup_id, sitegroup_ids }: Static<typeof PrivilegeBody>, field: string): readonly string[] {
  if (sitegroup_id === undefined) return sitegroup_ids ?? []
  if (sitegroup_ids !== undefined && sitegroup_ids.join() !== sitegroup_id)
    throw invalidField(`${field}.sitegroup_ids`, 'names other groups than sitegroup_id')
  return [sitegroup_id]
}

export function presentPrivilegeOf(orgId: string, privilege: WirePrivilege): Static<typeof OrgPrivilegeReply> {
  const { scope, role, site_id, sitegroup_id, views } = privilege
  return {
    scope,
    role,
    org_id: orgId,
    ...(site_id !== undefined && { site_id }),
    ...(sitegroup_id !== undefined && { sitegroup_id }),
    ...(views !== undefined && { views: [...views] }),
  }
}

/** The organization in which the presented privileges count. */
export interface PrivilegeOrg {
  readonly id: string
  readonly name: string
}

/** Presents privileges of a person. Neighbors that differ only in the site group are one, as clients send them. */
export function presentAdminPrivileges(
  org: PrivilegeOrg,
  privileges: readonly WirePrivilege[],
): Static<typeof AdminPrivilegeReply>[] {
  const presented: Static<typeof AdminPrivilegeReply>[] = []
  for (const privilege of privileges) {
    const { sitegroup_id: group, ...shared } = presentPrivilegeOf(org.id, privilege)
    const { sitegroup_ids: groups = [], ...last } = presented.at(-1) ?? {}
    const next = { ...shared, org_name: org.name, name: org.name, orggroup_ids: [] }
    if (group === undefined) presented.push(next)
    else if (groups.length > 0 && isDeepStrictEqual(last, next))
      presented.splice(-1, 1, { ...next, sitegroup_ids: [...groups, group] })
    else presented.push({ ...next, sitegroup_ids: [group] })
  }
  return presented
}
