/** The pages of an organization that its navigation and the palette lead to. */
export const orgPages = [
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
