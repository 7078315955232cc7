import { expect, it } from 'vitest'
import { rolesFor } from '../../../src/access/authorize.ts'
import { type Need, may } from './rights.ts'

const org = { scope: 'org', org_id: 'o' }

it.each<Need>(['read', 'operate', 'write', 'admin'])('agrees with the server on the roles that may %s', (need) => {
  const roles = ['admin', 'write', 'read', 'helpdesk', 'installer']
  const allowed = roles.filter((role) => may([{ ...org, role }], need, { orgId: 'o' }))
  expect(allowed.toSorted()).toEqual(rolesFor(need).toSorted())
})

it('keeps privileges to their place', () => {
  const site = { scope: 'site', role: 'write', org_id: 'o', site_id: 's' }
  expect(may([site], 'write', { orgId: 'o' })).toBe(false)
  expect(may([site], 'write', { orgId: 'o', siteId: 's' })).toBe(true)
  expect(may([site], 'write', { orgId: 'o', siteId: 'other' })).toBe(false)
  expect(may([{ ...org, role: 'admin' }], 'write', { orgId: 'another' })).toBe(false)
  expect(may([{ ...site, scope: 'orgsites' }], 'operate', { orgId: 'o', siteId: 'other' })).toBe(true)
})
