import { expect, test } from 'vitest'
import type { Site } from './sites.ts'
import { type Privilege, grantOf, privilegeText, privilegesOf } from './grant.ts'

const org = { org_id: 'org', org_name: 'Org', name: 'Org', orggroup_ids: [] }
const privilege: Privilege = { ...org, role: 'read', scope: 'org' }
const at: Privilege = { ...privilege, role: 'write', scope: 'site', site_id: 'berlin' }

test('a grant of a form becomes the privilege of a request, and the other way', () => {
  for (const grant of [
    { role: 'read', siteId: '' },
    { role: 'helpdesk', siteId: 'berlin' },
  ] as const)
    expect(grantOf(privilegesOf(grant, 'org') as Privilege[])).toEqual(grant)
  expect(privilegesOf({ role: 'write', siteId: 'berlin' }, 'org')).toEqual([
    { scope: 'site', role: 'write', org_id: 'org', site_id: 'berlin' },
  ])
})

test('a privilege says where it holds', () => {
  const sites = new Map([['berlin', { label: 'Berlin' } as Site]])
  expect(privilegeText(privilege, sites)).toBe('Observer')
  expect(privilegeText(at, sites)).toBe('Network admin of Berlin')
  expect(privilegeText(at, undefined)).toBe('Network admin of a site')
  expect(privilegeText({ ...privilege, scope: 'orgsites' }, sites)).toBe('Observer of all sites')
  expect(privilegeText({ ...privilege, scope: 'sitegroup', sitegroup_ids: ['a', 'b'] }, sites)).toBe(
    'Observer of 2 site groups',
  )
})
