import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type AdminScope,
  type InOrg,
  type OrgScope,
  type SiteScope,
  type SitesScope,
  adminScope,
  coversOrg,
  siteIdOf,
  systemScope,
  systemScopeOf,
} from './scope.ts'

const orgId = '00000000-0000-4000-8000-000000000001'
const siteId = '00000000-0000-4000-8000-000000000002'

describe('the types of scopes', () => {
  it('let nobody pass some sites, or one, for the whole organization', () => {
    expectTypeOf<SitesScope>().not.toExtend<OrgScope>()
    expectTypeOf<SiteScope>().not.toExtend<OrgScope>()
    expectTypeOf<SitesScope>().not.toExtend<SiteScope>()
    expectTypeOf<InOrg>().not.toExtend<SitesScope>()
  })

  it('let whoever has more pass for who has less', () => {
    expectTypeOf<OrgScope>().toExtend<SitesScope>()
    expectTypeOf<SiteScope>().toExtend<SitesScope>()
    expectTypeOf<SitesScope>().toExtend<InOrg>()
  })

  it('let nobody pass an organization for a person, or a person for an organization', () => {
    expectTypeOf<OrgScope>().not.toExtend<AdminScope>()
    expectTypeOf<AdminScope>().not.toExtend<InOrg>()
  })

  it('can not be written down: only authorization makes them', () => {
    expectTypeOf<{ orgId: string; siteIds: 'all'; actor: InOrg['actor'] }>().not.toExtend<InOrg>()
    expectTypeOf<{ adminId: string }>().not.toExtend<AdminScope>()
  })
})

describe('the scope of a person', () => {
  it('names the person and no organization', () => {
    const adminId = '00000000-0000-4000-8000-000000000003'
    expect(adminScope(adminId)).toEqual({ adminId })
  })
})

describe('the scope of a worker', () => {
  it('is of the whole organization', () => {
    const scope = systemScope('gateway', orgId)
    expect(coversOrg(scope)).toBe(true)
    expect(siteIdOf(scope)).toBeNull()
  })

  it('is of one site for what belongs to a site', () => {
    const scope = systemScopeOf('webhooks', { orgId, siteId })
    expect(coversOrg(scope)).toBe(false)
    expect(siteIdOf(scope)).toBe(siteId)
    expect(scope.siteIds).toEqual([siteId])
  })
})
