import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WirePrivilege } from '../../access/tables.ts'
import { mayGrant } from './decide-grant.ts'

const role = fc.constantFrom('admin', 'write', 'read', 'helpdesk', 'installer')
const place = fc.constantFrom('a', 'b')
const privilege: fc.Arbitrary<WirePrivilege> = fc.oneof(
  fc.record({ scope: fc.constant('org'), role }),
  fc.record({ scope: fc.constant('orgsites'), role }),
  fc.record({ scope: fc.constant('site'), role, site_id: place }),
  fc.record({ scope: fc.constant('sitegroup'), role, sitegroup_id: place }),
)
const privileges = fc.array(privilege, { maxLength: 5 })

describe('mayGrant', () => {
  it.each<[string, WirePrivilege, WirePrivilege, boolean]>([
    ['admin grants admin', { scope: 'org', role: 'admin' }, { scope: 'org', role: 'admin' }, true],
    ['admin grants installer', { scope: 'org', role: 'admin' }, { scope: 'org', role: 'installer' }, true],
    ['write does not grant admin', { scope: 'org', role: 'write' }, { scope: 'org', role: 'admin' }, false],
    ['write grants helpdesk', { scope: 'org', role: 'write' }, { scope: 'org', role: 'helpdesk' }, true],
    ['write does not grant installer', { scope: 'org', role: 'write' }, { scope: 'org', role: 'installer' }, false],
    ['read does not grant helpdesk', { scope: 'org', role: 'read' }, { scope: 'org', role: 'helpdesk' }, false],
    ['installer does not grant read', { scope: 'org', role: 'installer' }, { scope: 'org', role: 'read' }, false],
    ['org covers all sites', { scope: 'org', role: 'read' }, { scope: 'orgsites', role: 'read' }, true],
    ['all sites are not the org', { scope: 'orgsites', role: 'admin' }, { scope: 'org', role: 'read' }, false],
    [
      'all sites cover a site',
      { scope: 'orgsites', role: 'read' },
      { scope: 'site', role: 'read', site_id: 'a' },
      true,
    ],
    [
      'all sites cover a group',
      { scope: 'orgsites', role: 'read' },
      { scope: 'sitegroup', role: 'read', sitegroup_id: 'a' },
      true,
    ],
    [
      'a group is not all sites',
      { scope: 'sitegroup', role: 'admin', sitegroup_id: 'a' },
      { scope: 'orgsites', role: 'read' },
      false,
    ],
    ['org covers a site', { scope: 'org', role: 'read' }, { scope: 'site', role: 'read', site_id: 'a' }, true],
    [
      'a site is not another',
      { scope: 'site', role: 'admin', site_id: 'a' },
      { scope: 'site', role: 'read', site_id: 'b' },
      false,
    ],
    ['a site is not the org', { scope: 'site', role: 'admin', site_id: 'a' }, { scope: 'org', role: 'read' }, false],
    [
      'a group is not another',
      { scope: 'sitegroup', role: 'admin', sitegroup_id: 'a' },
      { scope: 'sitegroup', role: 'read', sitegroup_id: 'b' },
      false,
    ],
    [
      'a group is no site',
      { scope: 'sitegroup', role: 'admin', sitegroup_id: 'a' },
      { scope: 'site', role: 'read', site_id: 'a' },
      false,
    ],
  ])('%s', (_what, held, wanted, may) => {
    expect(mayGrant([held], [wanted])).toBe(may)
  })

  it('lets everyone grant what they have, and gain nothing by a grant', () => {
    fc.assert(
      fc.property(privileges, privileges, privileges, (held, given, further) => {
        expect(mayGrant(held, held)).toBe(true)
        if (mayGrant(held, given) && mayGrant(given, further)) expect(mayGrant(held, further)).toBe(true)
      }),
    )
  })

  it("requires each privilege to lie within one of the grantor's", () => {
    fc.assert(
      fc.property(privileges, privileges, (held, wanted) => {
        expect(mayGrant(held, wanted)).toBe(wanted.every((one) => mayGrant(held, [one])))
      }),
    )
  })
})
