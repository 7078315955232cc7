/**
 * The permission that an operation requires of a role. The server decides by the same table; a page only hides what the
 * server would refuse.
 */
export type Need = 'read' | 'operate' | 'write' | 'admin'

export interface Privilege {
  readonly scope: string
  readonly role: string
  readonly org_id: string
  readonly site_id?: string
}

const rolesThatMay: Readonly<Record<Need, ReadonlySet<string>>> = {
  read: new Set(['admin', 'write', 'read', 'helpdesk']),
  operate: new Set(['admin', 'write', 'helpdesk']),
  write: new Set(['admin', 'write']),
  admin: new Set(['admin']),
}

export interface Place {
  readonly orgId: string
  /** Absent for the whole organization. */
  readonly siteId?: string
}

/**
 * True if one of the privileges allows `need` at a place. Only the server knows the sites of a privilege for site
 * groups: for those, the answer for a site is true, and the server may still refuse.
 */
export function may(privileges: readonly Privilege[], need: Need, { orgId, siteId }: Place): boolean {
  return privileges.some((privilege) => {
    if (privilege.org_id !== orgId || !rolesThatMay[need].has(privilege.role)) return false
    if (privilege.scope === 'org') return true
    if (siteId === undefined) return false
    return privilege.scope !== 'site' || privilege.site_id === siteId
  })
}
