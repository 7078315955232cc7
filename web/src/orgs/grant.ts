import type { Schemas } from '../api/client.ts'
import type { Site } from './sites.ts'

export type Privilege = Schemas['AdminPrivilege']
type PrivilegeGrant = Schemas['PrivilegeGrant']
export type Role = Privilege['role']

export const roleWords: Readonly<Record<Role, { readonly label: string; readonly text: string }>> = {
  admin: { label: 'Admin', text: 'Can do everything, also change people and settings' },
  write: { label: 'Network admin', text: 'Can change devices, upgrades and webhooks' },
  helpdesk: { label: 'Helpdesk', text: 'Can read everything, and restart and locate devices' },
  read: { label: 'Observer', text: 'Can read everything and change nothing' },
  installer: { label: 'Installer', text: 'Can claim, place and name devices while mounting them' },
}

/** A person's privilege: a role, in the organization or at one site. */
export interface Grant {
  readonly role: Role
  /** Empty: the whole organization. */
  readonly siteId: string
}

export const firstGrant: Grant = { role: 'read', siteId: '' }

/** Returns the privileges of a request. */
export function privilegesOf({ role, siteId }: Grant, orgId: string): PrivilegeGrant[] {
  return siteId === ''
    ? [{ scope: 'org', role, org_id: orgId }]
    : [{ scope: 'site', role, org_id: orgId, site_id: siteId }]
}

/** Returns the grant that a form begins with. One for groups of sites is not among its choices. */
export function grantOf(privileges: readonly Pick<Privilege, 'role' | 'site_id'>[]): Grant {
  const [first] = privileges
  return first === undefined ? firstGrant : { role: first.role, siteId: first.site_id ?? '' }
}

/** Returns the text of a grant, such as "Observer of Berlin" or "Observer of the whole organization". */
export function grantText({ role, siteId }: Grant, sites: ReadonlyMap<string, Site> | undefined): string {
  const place = siteId === '' ? 'the whole organization' : (sites?.get(siteId)?.label ?? 'a site')
  return `${roleWords[role].label} of ${place}`
}

/** Returns the text of a privilege, such as "Observer of Berlin". */
export function privilegeText(
  {
    role,
    scope,
    site_id: siteId,
    sitegroup_ids: groups = [],
  }: Pick<Privilege, 'role' | 'scope' | 'site_id' | 'sitegroup_ids'>,
  sites: ReadonlyMap<string, Site> | undefined,
): string {
  const { label } = roleWords[role]
  if (scope === 'org') return label
  if (scope === 'orgsites') return `${label} of all sites`
  if (scope === 'site') return `${label} of ${sites?.get(siteId ?? '')?.label ?? 'a site'}`
  return `${label} of ${groups.length === 1 ? 'a site group' : `${groups.length} site groups`}`
}
