import { describe, expect, it } from 'vitest'
import { parsePrivileges, presentPrivilegeOf } from './wire-privileges.ts'

type Wire = Parameters<typeof parsePrivileges>[1][number]

const org = '11111111-1111-4111-8111-111111111111'
const other = '22222222-2222-4222-8222-222222222222'
const place = '33333333-3333-4333-8333-333333333333'

describe('parsePrivileges', () => {
  it('keeps what a scope needs and drops the rest', () => {
    expect(parsePrivileges(org, [{ scope: 'org', role: 'read', site_id: place, views: [] }])).toEqual([
      { scope: 'org', role: 'read' },
    ])
    expect(parsePrivileges(org, [{ scope: 'site', role: 'read', org_id: org, site_id: place }])).toEqual([
      { scope: 'site', role: 'read', site_id: place },
    ])
  })

  it('makes one privilege for each group and drops duplicates', () => {
    const groups: Wire = { scope: 'sitegroup', role: 'write', sitegroup_ids: [place, other, place] }
    expect(parsePrivileges(org, [groups])).toEqual([
      { scope: 'sitegroup', role: 'write', sitegroup_id: place },
      { scope: 'sitegroup', role: 'write', sitegroup_id: other },
    ])
  })

  it.each<[string, Wire, string]>([
    ['of another organization', { scope: 'org', role: 'read', org_id: other }, 'privileges.0.org_id'],
    ['without its site', { scope: 'site', role: 'read' }, 'privileges.0.site_id'],
    ['without its group', { scope: 'sitegroup', role: 'read', sitegroup_ids: [] }, 'privileges.0.sitegroup_id'],
  ])('refuses a privilege %s', (_what, privilege, field) => {
    expect(() => parsePrivileges(org, [privilege])).toThrow(`Invalid field ${field}: `)
  })
})

describe('presentPrivilegeOf', () => {
  it('presents a group under both names', () => {
    expect(
      presentPrivilegeOf(org, { scope: 'sitegroup', role: 'read', sitegroup_id: place, views: ['location'] }),
    ).toEqual({
      scope: 'sitegroup',
      role: 'read',
      org_id: org,
      sitegroup_id: place,
      sitegroup_ids: [place],
      views: ['location'],
    })
  })
})
