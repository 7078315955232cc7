import { describe, expect, it } from 'vitest'
import { parsePrivileges, presentAdminPrivileges, presentPrivilegeOf } from './wire-privileges.ts'

type Wire = Parameters<typeof parsePrivileges>[1][number]

const org = '11111111-1111-4111-8111-111111111111'
const other = '22222222-2222-4222-8222-222222222222'
const place = '33333333-3333-4333-8333-333333333333'

describe('parsePrivileges', () => {
  it('keeps what was sent, with empty lists', () => {
    expect(parsePrivileges(org, [{ scope: 'org', role: 'read', views: [], orggroup_ids: [] }])).toEqual([
      { scope: 'org', role: 'read', views: [] },
    ])
    expect(parsePrivileges(org, [{ scope: 'site', role: 'read', org_id: org, site_id: place }])).toEqual([
      { scope: 'site', role: 'read', site_id: place },
    ])
  })

  it('takes all sites without a place', () => {
    const wire: Wire = { scope: 'orgsites', role: 'admin' }
    expect(parsePrivileges(org, [wire])).toEqual([{ scope: 'orgsites', role: 'admin' }])
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
    ['with a site that its scope has not', { scope: 'org', role: 'read', site_id: place }, 'privileges.0.site_id'],
    [
      'with groups that its scope has not',
      { scope: 'site', role: 'read', site_id: place, sitegroup_ids: [place] },
      'privileges.0.sitegroup_ids',
    ],
    ['of a service provider', { scope: 'org', role: 'read', msp_id: place }, 'privileges.0.msp_id'],
    ['of organization groups', { scope: 'org', role: 'read', orggroup_ids: [place] }, 'privileges.0.orggroup_ids'],
    [
      'with two groups of which one is named alone',
      { scope: 'sitegroup', role: 'read', sitegroup_id: place, sitegroup_ids: [place, other] },
      'privileges.0.sitegroup_ids',
    ],
    ['without its group', { scope: 'sitegroup', role: 'read', sitegroup_ids: [] }, 'privileges.0.sitegroup_id'],
  ])('refuses a privilege %s', (_what, privilege, field) => {
    expect(() => parsePrivileges(org, [privilege])).toThrow(`Invalid field ${field}: `)
  })
})

describe('presentPrivilegeOf', () => {
  it('presents the group of a token or role by the singular', () => {
    expect(
      presentPrivilegeOf(org, { scope: 'sitegroup', role: 'read', sitegroup_id: place, views: ['location'] }),
    ).toEqual({
      scope: 'sitegroup',
      role: 'read',
      org_id: org,
      sitegroup_id: place,
      views: ['location'],
    })
  })
})

describe('presentAdminPrivileges', () => {
  it('returns the privileges unchanged', () => {
    const wire: Wire[] = [
      { scope: 'sitegroup', role: 'read', sitegroup_ids: [place, other] },
      { scope: 'sitegroup', role: 'write', sitegroup_ids: [place], views: [] },
      { scope: 'site', role: 'write', site_id: place },
      { scope: 'org', role: 'read' },
    ]
    const own = { org_id: org, org_name: 'Company', name: 'Company', orggroup_ids: [] }
    expect(presentAdminPrivileges({ id: org, name: 'Company' }, parsePrivileges(org, wire))).toEqual(
      wire.map((privilege) => Object.assign({}, privilege, own)),
    )
  })
})
