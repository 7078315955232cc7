import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { org, orgAndSite, self } from './at.ts'
import { operation } from './operation.ts'
import { Empty, Uuid } from './schemas.ts'

const rest = { summary: 'Do things', tag: 'Orgs', reply: Empty, run: () => ({}) } as const

describe('the declaration of an operation', () => {
  it('has the parameters of its place and its own, and must name those of its path', () => {
    const [made] = operation({
      ...rest,
      id: 'getThing',
      method: 'GET',
      at: org('/things/:thing_id', { needs: 'read' }),
      params: { thing_id: Uuid },
    })
    expect(made?.at.path).toBe('/orgs/:org_id/things/:thing_id')
    expect(made?.schema.params).toMatchObject({ required: ['org_id', 'thing_id'] })
    const thing = { id: 'getThing', method: 'GET', at: org('/things/:thing_id', { needs: 'read' }) } as const
    expect(() => operation({ ...rest, ...thing })).toThrow('getThing declares')
    const params = { other_id: Uuid }
    expect(() => operation({ ...rest, ...thing, params })).toThrow('getThing declares')
  })

  it('makes two operations of one in an organization and in a site', () => {
    const made = operation({
      ...rest,
      id: { org: 'listOrgThings', site: 'listSiteThings' },
      summary: { org: 'List the things of an organization', site: 'List the things of a site' },
      tag: { org: 'Orgs Devices', site: 'Sites Devices' },
      method: 'GET',
      at: orgAndSite('/things', { needs: 'read' }),
    })
    expect(made.map(({ id, summary, at, tag }) => [id, summary, at.audience, at.path, tag])).toEqual([
      ['listOrgThings', 'List the things of an organization', 'org', '/orgs/:org_id/things', 'Orgs Devices'],
      ['listSiteThings', 'List the things of a site', 'site', '/sites/:site_id/things', 'Sites Devices'],
    ])
  })

  it('may take another query in a site than in its organization', () => {
    const query = { org: Type.Object({ site_id: Uuid }), site: Type.Object({ map_id: Uuid }) }
    const made = operation({
      ...rest,
      id: { org: 'listOrgThings', site: 'listSiteThings' },
      summary: { org: 'List the things of an organization', site: 'List the things of a site' },
      tag: { org: 'Orgs Devices', site: 'Sites Devices' },
      method: 'GET',
      at: orgAndSite('/things', { needs: 'read' }),
      query,
    })
    expect(made.map(({ schema }) => schema.querystring)).toEqual([query.org, query.site])
  })

  it('describes a text of another type than JSON', () => {
    const reply = Type.String()
    const [made] = operation({
      id: 'getText',
      summary: 'Do things',
      tag: 'Orgs',
      method: 'GET',
      at: self('/text'),
      reply,
      mediaType: 'text/csv',
      run: () => 'a,b',
    })
    expect(made?.reply.content).toEqual({ 'text/csv': reply })
  })
})
