import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { at, org, orgAndSite, self } from './at.ts'
import { operation } from './operation.ts'
import { Empty, ErrorReply, Uuid } from './schemas.ts'

const rest = { summary: 'Do things', tag: 'Things', reply: Empty, run: () => ({}) } as const

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
      tag: { org: 'Orgs Things', site: 'Sites Things' },
      method: 'GET',
      at: orgAndSite('/things', { needs: 'read' }),
    })
    expect(made.map(({ id, at, schema }) => [id, at.audience, at.path, schema.tags])).toEqual([
      ['listOrgThings', 'org', '/orgs/:org_id/things', ['Orgs Things']],
      ['listSiteThings', 'site', '/sites/:site_id/things', ['Sites Things']],
    ])
  })

  it('may take another query in a site than in its organization', () => {
    const query = { org: Type.Object({ site_id: Uuid }), site: Type.Object({ map_id: Uuid }) }
    const made = operation({
      ...rest,
      id: { org: 'listOrgThings', site: 'listSiteThings' },
      summary: { org: 'List the things of an organization', site: 'List the things of a site' },
      tag: { org: 'Orgs Things', site: 'Sites Things' },
      method: 'GET',
      at: orgAndSite('/things', { needs: 'read' }),
      query,
    })
    expect(made.map(({ schema }) => schema.querystring)).toEqual([query.org, query.site])
  })

  it('declares the errors that it answers', () => {
    const errors = (made: ReturnType<typeof operation>) =>
      Object.keys(Object(made[0]?.schema.response)).filter((status) => status !== '200')
    expect(errors(operation({ ...rest, id: 'a', method: 'GET', at: self('/a') }))).toEqual(['401', '429'])
    const changed = { at: org('/b', { needs: 'write' }), body: Type.Object({}) }
    expect(errors(operation({ ...rest, id: 'b', method: 'POST', ...changed }))).toEqual([
      '400',
      '401',
      '403',
      '404',
      '429',
    ])
    const further = operation({ ...rest, id: 'c', method: 'GET', at: self('/c'), errors: { 503: ErrorReply } })
    expect(errors(further)).toEqual(['401', '429', '503'])
    const account = at({ audience: 'person', needs: null, path: '/d', params: {} }, () => null)
    expect(errors(operation({ ...rest, id: 'd', method: 'GET', at: account }))).toEqual(['401', '403', '429'])
  })

  it('describes a text of another type than JSON', () => {
    const reply = Type.String()
    const [made] = operation({
      id: 'getText',
      summary: 'Do things',
      tag: 'Things',
      method: 'GET',
      at: self('/text'),
      reply,
      mediaType: 'text/csv',
      run: () => 'a,b',
    })
    expect(made?.schema.response).toMatchObject({ 200: { content: { 'text/csv': { schema: reply } } } })
  })
})
