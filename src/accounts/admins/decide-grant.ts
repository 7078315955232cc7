import type { Role } from '../../access/principal.ts'
import type { WirePrivilege } from '../../access/tables.ts'

/** The roles that a role may grant: itself and those that may do no more. Installers may grant only their own role. */
const grantableRoles: Record<Role, readonly Role[]> = {
  admin: ['admin', 'write', 'read', 'helpdesk', 'installer'],
  write: ['write', 'read', 'helpdesk'],
  helpdesk: ['helpdesk', 'read'],
  read: ['read'],
  installer: ['installer'],
}

/** True if each requested privilege lies within one of the grantor's: no higher role, no place outside theirs. */
export function mayGrant(grantor: readonly WirePrivilege[], wanted: readonly WirePrivilege[]): boolean {
  return wanted.every((privilege) =>
    grantor.some((held) => grantableRoles[held.role].includes(privilege.role) && covers(held, privilege)),
  )
}

/**
 * The sites of a group change, so only a privilege for the group itself, for all sites or for the whole organization
 * covers the group.
 */
function covers(held: WirePrivilege, wanted: WirePrivilege): boolean {
  if (held.scope === 'org') return true
  if (held.scope === 'orgsites') return wanted.scope !== 'org'
  if (held.scope !== wanted.scope) return false
  return held.scope === 'site' ? held.site_id === wanted.site_id : held.sitegroup_id === wanted.sitegroup_id
}
