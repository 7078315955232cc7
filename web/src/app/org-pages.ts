import { useMay } from '../accounts/self.ts'

const pages = [
  { to: '/orgs/$orgId', label: 'Overview' },
  { to: '/orgs/$orgId/devices', label: 'Devices' },
  { to: '/orgs/$orgId/edges', label: 'Edge appliances' },
  { to: '/orgs/$orgId/upgrades', label: 'Upgrades' },
  { to: '/orgs/$orgId/firmware', label: 'Firmware' },
  { to: '/orgs/$orgId/webhooks', label: 'Webhooks' },
  { to: '/orgs/$orgId/people', label: 'People' },
  { to: '/orgs/$orgId/settings', label: 'Settings' },
  { to: '/orgs/$orgId/audit', label: 'Audit log' },
] as const

type OrgPage = (typeof pages)[number]

/** The server answers these only to roles in the whole organization. */
const orgWide: ReadonlySet<string> = new Set(['/orgs/$orgId/upgrades', '/orgs/$orgId/people', '/orgs/$orgId/sso'])

/** Returns the pages of an organization that its navigation and the palette lead to. */
export function useOrgPages(orgId: string): readonly OrgPage[] {
  const mayRead = useMay('read', { orgId })
  return mayRead ? pages : pages.filter(({ to }) => !orgWide.has(to))
}

/** True if the path is that of a page which the role of the caller does not show. */
export function useIsHidden(orgId: string, path: string | undefined): boolean {
  const mayRead = useMay('read', { orgId })
  return !mayRead && [...orgWide].some((to) => `${path}/`.startsWith(`${to.replace('$orgId', orgId)}/`))
}
