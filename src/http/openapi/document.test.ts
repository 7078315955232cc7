import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { nobody, org, self, site } from '../at.ts'
import { operation } from '../operation.ts'
import { Binary, Empty, ErrorReply, Uuid, named } from '../schemas.ts'
import { makeDocument } from './document.ts'

const rest = { summary: 'Do things', tag: 'Orgs', reply: Empty, run: () => ({}) } as const
const Thing = named('Thing', Type.Object({ id: Uuid }))

/** Returns the published form of the first operation. */
function published(...operations: Parameters<typeof makeDocument>[0]) {
  const document = JSON.parse(JSON.stringify(makeDocument(operations, '1.2.3')))
  const [path = ''] = Object.keys(document.paths)
  return { document, path, spec: document.paths[path][String(operations[0]?.method).toLowerCase()] }
}

describe('the document', () => {
  it('has each operation with its summary, its tag, and who may call it', () => {
    const { document, path, spec } = published(
      ...operation({
        ...rest,
        id: 'getThing',
        method: 'GET',
        at: org('/things/:id(^[a-z]$)', { needs: 'write' }),
        params: { id: Uuid },
      }),
    )
    expect(path).toBe('/api/v1/orgs/{org_id}/things/{id}')
    expect(spec).toMatchObject({
      operationId: 'getThing',
      summary: 'Do things',
      description: 'For the roles admin, write in the whole organization.',
      tags: ['Orgs'],
      'x-audience': 'org',
      'x-roles': ['admin', 'write'],
    })
    expect(document.tags).toEqual([{ name: 'Orgs', description: 'Organizations' }])
  })

  it('does not depend on the order of the declarations', () => {
    const declared = [
      operation({ ...rest, id: 'b', method: 'POST', at: self('/b') }),
      operation({ ...rest, id: 'c', method: 'GET', at: self('/b'), reply: Thing, run: () => ({ id: '' }) }),
      operation({ ...rest, id: 'a', method: 'DELETE', at: self('/a') }),
    ]
    const document = JSON.stringify(makeDocument(declared.flat(), '1'))
    expect(JSON.stringify(makeDocument(declared.toReversed().flat(), '1'))).toBe(document)
    expect([...document.matchAll(/"operationId":"(\w)"/g)].map(([, id]) => id)).toEqual(['a', 'c', 'b'])
  })

  it('has the errors that an operation answers by design', () => {
    const errors = (made: ReturnType<typeof operation>) =>
      Object.keys(published(...made).spec.responses).filter((status) => status !== '200')
    const usual = ['400', '401', '403', '429', '431', '503']
    expect(errors(operation({ ...rest, id: 'a', method: 'GET', at: self('/a') }))).toEqual(usual)
    const changing = operation({
      ...rest,
      id: 'b',
      method: 'POST',
      at: org('/b', { needs: 'write' }),
      body: Type.Object({}),
    })
    expect(errors(changing)).toEqual(['400', '401', '403', '404', '413', '414', '415', '429', '431', '503'])
    const further = operation({ ...rest, id: 'c', method: 'GET', at: self('/c'), errors: { 409: ErrorReply } })
    expect(errors(further)).toEqual(['400', '401', '403', '409', '429', '431', '503'])
    expect(errors(operation({ ...rest, id: 'd', method: 'GET', at: nobody('/d') }))).toEqual([
      '400',
      '429',
      '431',
      '503',
    ])
    const body = Type.Unsafe<unknown>({ content: { 'application/octet-stream': { schema: Binary } } })
    expect(errors(operation({ ...rest, id: 'e', method: 'PUT', at: self('/e'), body }))).not.toContain('415')
  })

  it('shares the usual errors, and has one of another shape where it is answered', () => {
    const Refusal = named('Refusal', Type.Object({ error: Type.String() }))
    const { document, spec } = published(
      ...operation({ ...rest, id: 'a', method: 'GET', at: self('/a'), errors: { 400: Refusal } }),
    )
    expect(spec.responses[401]).toEqual({ $ref: '#/components/responses/Unauthorized' })
    expect(document.components.responses.Unauthorized.content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Error',
    })
    expect(spec.responses[400].content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Refusal' })
    expect(document.components.responses).not.toHaveProperty('BadRequest')
  })

  it('requires a body only where an empty one is refused', () => {
    const required = (body: Parameters<typeof operation>[0]['body']) =>
      published(...operation({ ...rest, id: 'a', method: 'PUT', at: self('/a'), ...(body && { body }) })).spec
        .requestBody.required
    expect(required(Type.Object({ name: Type.String() }))).toBe(true)
    expect(required(Type.Object({ name: Type.Optional(Type.String()) }))).toBe(false)
    expect(required(Type.Array(Type.String()))).toBe(true)
    expect(required(Type.Unsafe<unknown>({ content: { 'multipart/form-data': { schema: Type.Object({}) } } }))).toBe(
      true,
    )
  })

  it('moves what a parameter is for out of its schema, and shares those with a name', () => {
    const query = Type.Object({
      limit: Type.Optional(named('limit', Type.Integer({ description: 'rows' }))),
      old: Type.Optional(Type.String({ deprecated: true, description: 'not any more' })),
    })
    const { document, spec } = published(
      ...operation({ ...rest, id: 'a', method: 'GET', at: site('/a', { needs: 'read' }), query }),
    )
    expect(spec.parameters).toEqual([
      { name: 'site_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
      { $ref: '#/components/parameters/limit' },
      {
        name: 'old',
        in: 'query',
        required: false,
        description: 'not any more',
        deprecated: true,
        schema: { type: 'string' },
      },
    ])
    expect(document.components.parameters).toEqual({
      limit: { name: 'limit', in: 'query', required: false, description: 'rows', schema: { type: 'integer' } },
    })
    expect(document.components.schemas).not.toHaveProperty('limit')
  })

  it('asks for no credentials where there can be none, and has every content type and header of an answer', () => {
    const { spec } = published(
      ...operation({
        ...rest,
        id: 'a',
        method: 'GET',
        at: nobody('/a'),
        otherReplies: { 'image/png': Binary },
        headers: { 'X-Rows': Type.Integer({ description: 'how many' }) },
      }),
    )
    expect(spec.security).toEqual([])
    expect(Object.keys(spec.responses[200].content)).toEqual(['application/json', 'image/png'])
    expect(spec.responses[200].headers).toEqual({ 'X-Rows': { description: 'how many', schema: { type: 'integer' } } })
  })
})
