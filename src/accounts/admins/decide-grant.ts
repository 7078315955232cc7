import type { Role } from '../../access/principal.ts'
import type { WirePrivilege } from '../../access/tables.ts'

/** What a role may hand on: itself and those that may do no more. The installer's world is one of its own. */
const grantableRoles: Record<Role, readonly Role[]> = {
  admin: ['admin', 'write', 'read', 'helpdesk', 'installer'],
  write: ['write', 'read', 'helpdesk'],
  helpdesk: ['helpdesk', 'read'],
  read: ['read'],
  installer: ['installer'],
}

/** True when each of `wanted` lies grantableRoles one that the grantor has: no role above theirs, no place outside theirs. */
export function mayGrant(grantor: readonly WirePrivilege[], wanted: readonly WirePrivilege[]): boolean {
  return wanted.every((privilege) =>
    grantor.some((held) => grantableRoles[held.role].includes(privilege.role) && covers(held, privilege)),
  )
}

/** A site group's sites change, so only the group itself or the whole organization covers it. */
function covers(held: WirePrivilege, wanted: WirePrivilege): boolean {
  if (held.scope === 'org') return true
  if (held.scope !== wanted.scope) return false
  return held.scope === 'site' ? held.site_id === wanted.site_id : held.sitegroup_id === wanted.sitegroup_id
}
