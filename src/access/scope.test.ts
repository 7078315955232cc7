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
  it('never accept some sites, or one, as the whole organization', () => {
    expectTypeOf<SitesScope>().not.toExtend<OrgScope>()
    expectTypeOf<SiteScope>().not.toExtend<OrgScope>()
    expectTypeOf<SitesScope>().not.toExtend<SiteScope>()
    expectTypeOf<InOrg>().not.toExtend<SitesScope>()
  })

  it('accept a wider scope in place of a narrower one', () => {
    expectTypeOf<OrgScope>().toExtend<SitesScope>()
    expectTypeOf<SiteScope>().toExtend<SitesScope>()
    expectTypeOf<SitesScope>().toExtend<InOrg>()
  })

  it('never accept an organization as a person, or a person as an organization', () => {
    expectTypeOf<OrgScope>().not.toExtend<AdminScope>()
    expectTypeOf<AdminScope>().not.toExtend<InOrg>()
  })

  it("can't be constructed: only authorization creates them", () => {
    expectTypeOf<{ orgId: string; siteIds: 'all'; actor: InOrg['actor'] }>().not.toExtend<InOrg>()
    expectTypeOf<{ adminId: string }>().not.toExtend<AdminScope>()
  })

  it("can't be changed: a copy with other members is not a scope", () => {
    const scope = systemScope('gateway', orgId)
    const copy = { ...scope, orgId: siteId }
    expectTypeOf(copy).not.toExtend<InOrg>()
    const widened = { ...(scope as SitesScope), siteIds: 'all' as const }
    expectTypeOf(widened).not.toExtend<OrgScope>()
    expectTypeOf({ ...adminScope(siteId), adminId: orgId }).not.toExtend<AdminScope>()
  })
})

describe('the scope of a person', () => {
  it('names the person and no organization', () => {
    const adminId = '00000000-0000-4000-8000-000000000003'
    expect(adminScope(adminId)).toEqual({ adminId })
  })
})

describe('the scope of a worker', () => {
  it('covers the whole organization', () => {
    const scope = systemScope('gateway', orgId)
    expect(coversOrg(scope)).toBe(true)
    expect(siteIdOf(scope)).toBeNull()
  })

  it('covers one site for objects of a site', () => {
    const scope = systemScopeOf('webhooks', { orgId, siteId })
    expect(coversOrg(scope)).toBe(false)
    expect(siteIdOf(scope)).toBe(siteId)
    expect(scope.siteIds).toEqual([siteId])
  })
})
